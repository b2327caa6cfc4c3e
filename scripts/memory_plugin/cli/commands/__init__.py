"""One module per command: `HELP`, `EXAMPLES`, `configure(parser)` and `run(arguments, context)`.

`run` returns the exit code, or None for 0.
"""
