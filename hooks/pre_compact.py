"""PreCompact: starts the search for memory candidates in the session before the client summarizes it; prints nothing."""

import sys

# This file has to parse on any Python, so that one that is too old says why and lets the session end.
if sys.version_info < (3, 9):
    sys.stderr.write("memory: Python %d.%d is older than 3.9\n" % sys.version_info[:2])
    sys.exit(0)

import os.path

# From __file__, for the host does not always export our folder; first, so that no installed copy wins.
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "scripts"))

try:
    from memory_plugin.hooks import run_hook

    status = run_hook("PreCompact")
except Exception as error:  # with any other exit code the hook command starts the next Python
    sys.stderr.write("memory: %s: %s\n" % (type(error).__name__, str(error)[:200].replace("\n", " ")))
    status = 0
sys.exit(status)
