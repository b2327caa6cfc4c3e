"""Grades of whole sessions: signals out of the transcript, six scores with evidence, here and in Langfuse."""
