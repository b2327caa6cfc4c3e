"""The disposable SQLite index over the memories of all scopes."""
