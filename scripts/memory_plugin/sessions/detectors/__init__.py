"""Detectors: each looks at the turns of a session and reports signals."""
