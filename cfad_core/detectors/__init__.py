"""Phase Two: what scores people."""
