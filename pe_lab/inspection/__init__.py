"""What a code is: numbers, verdicts and pictures of an encoding before any training."""
