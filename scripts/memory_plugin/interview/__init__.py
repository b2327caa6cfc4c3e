"""The next best question to the user, why it is asked, and when the interview ends."""
