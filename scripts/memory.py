"""The command line: exit 0 done, 1 failed or found problems, 2 usage."""

import sys

# This file has to parse on any Python, so that one that is too old says why.
if sys.version_info < (3, 9):
    sys.stderr.write("memory: Python %d.%d is older than 3.9\n" % sys.version_info[:2])
    sys.exit(1)

import os

# From __file__, so that links and any working folder do; first, so that no installed copy wins.
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

if sys.argv[1:] == ["statusline"]:  # the client runs it after each message: no command line is set up for it
    import gc

    gc.disable()  # as in the hooks: it lives some milliseconds, and is not taken apart at its end
    from memory_plugin.hooks.status_line import run

    os._exit(run())

from memory_plugin.cli import run_command

sys.exit(run_command())
