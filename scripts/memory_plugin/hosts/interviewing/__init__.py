"""What `memory interview` does on the host's side: input, output, the session's reminder, the ledger, and the memories at the end."""
