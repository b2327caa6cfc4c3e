"""Responses: every reply scored by rules, the unsure ones judged, drift corrected, and the rules improved by what was overruled."""
