"""One module per command: `HELP`, `EXAMPLES`, `configure(parser)` and `run(arguments, context)`.

A command without arguments of its own has no `configure`. `run` returns the exit code, or None for 0.
"""
