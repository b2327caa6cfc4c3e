"""Evaluation: gates decide by rules, then a jury of models scores; a failed gate overrides every score."""
