"""Candidates: what may be worth keeping, found by rules in what was said and done; nothing is kept until a person approves it."""
