"""Interviews: the next best question for the user, why it is asked, and when it is enough."""
