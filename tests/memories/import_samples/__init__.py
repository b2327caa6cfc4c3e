"""Made-up instruction files and records with the category and title that a person gave each statement before the rules were written."""
