"""From rows to a causal graph."""
