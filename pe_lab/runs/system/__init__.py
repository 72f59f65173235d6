"""Files, locks, streams, the terminal and settings of JAX's processes."""
