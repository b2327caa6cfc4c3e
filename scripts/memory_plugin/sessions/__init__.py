"""Grades of whole sessions: signals from the transcript, six scores with evidence, on this machine and in Langfuse."""
