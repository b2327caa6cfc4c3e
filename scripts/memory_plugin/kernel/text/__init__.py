"""Text analysis and sanitizing; what runs while a prompt waits does not import `re`."""
