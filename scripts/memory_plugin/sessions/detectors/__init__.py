"""What looks for signals, one subject a module."""
