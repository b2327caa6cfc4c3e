"""Recall: the right few memories for a prompt, or silence."""
