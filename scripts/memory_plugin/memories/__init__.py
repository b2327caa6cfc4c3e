"""What is remembered: records, their files, trust and life cycle."""
