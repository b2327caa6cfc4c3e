"""Transcripts of sessions, read as a stream of turns."""
