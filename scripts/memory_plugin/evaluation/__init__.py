"""Evaluation: gates that decide by rules, then a jury of models; a failed gate overrides every score."""
