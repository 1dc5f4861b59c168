"""From tables to numbers and back: roles, encoding, splits, the synthetic generator."""
