"""From a file to encoded rows and back: readers, roles, validation, encoding, splits, and data sets to try."""
