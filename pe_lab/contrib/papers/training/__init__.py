"""What papers change in training."""
