"""Interviews: choose the next best question to the user, explain it, and decide when the interview ends."""
