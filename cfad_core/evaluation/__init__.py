"""What the scores say: metrics, the trade-off curve, densities."""
