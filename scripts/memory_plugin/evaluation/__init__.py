"""Conversations evaluated: gates that decide by rules and cannot be outvoted, then a jury of judges."""
