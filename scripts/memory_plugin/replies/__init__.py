"""Replies: score every reply by rules, have the unsure ones judged, correct drift, and improve the rules from overrides."""
