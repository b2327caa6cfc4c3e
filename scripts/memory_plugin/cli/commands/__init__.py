"""One module per command, or for several that belong together; `HANDLERS` holds what carries out each."""
