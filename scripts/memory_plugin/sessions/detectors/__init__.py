"""Detectors: each observes the turns of a session and reports signals."""
