"""What joins features: plain functions that take what they need, return records, print nothing and read no arguments."""
