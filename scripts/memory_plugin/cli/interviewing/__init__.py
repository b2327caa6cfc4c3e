"""The actions of `memory interview`: input, output, the reminder of the session, the ledger, and the memories at the end."""
