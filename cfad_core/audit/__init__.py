"""The whole way, from a table to what an audit found."""
