"""One module per command: `HELP`, `EXAMPLES`, `configure(parser)` and `run(arguments, context) -> exit code`."""
