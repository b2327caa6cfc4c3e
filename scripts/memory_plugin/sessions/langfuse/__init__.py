"""Langfuse over plain HTTP: score configs, scores and sessions, on servers of version 3 and 4."""
