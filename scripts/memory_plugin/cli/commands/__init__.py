"""One module per command: `HELP`, `EXAMPLES`, `configure(parser)` and `run(arguments, session) -> exit code`."""
