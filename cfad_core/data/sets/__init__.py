"""Tables to try audits on: public data sets, a sample, and synthetic people."""
