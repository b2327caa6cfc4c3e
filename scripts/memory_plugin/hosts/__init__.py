"""The top floor: turns host events and command lines into calls of the features."""
