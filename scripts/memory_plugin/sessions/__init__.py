"""Sessions: grade whole sessions by signals from the transcript and six scores with evidence, stored locally and in Langfuse."""
