"""What every room stands on: errors, settings, progress, files, the training loop, number formats."""
