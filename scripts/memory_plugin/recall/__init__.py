"""Recall: find the few memories that matter for a prompt, or none."""
