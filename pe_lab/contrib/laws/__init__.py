"""The laws of encodings and position schemes, as functions that raise AssertionError."""
