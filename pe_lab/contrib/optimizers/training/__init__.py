"""What optimizers change in training."""
