"""Memories: records, their files, trust and life cycle."""
