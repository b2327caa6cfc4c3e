"""Langfuse over plain HTTP: score configs, scores, sessions; old servers and new ones."""
