"""Stop: scores the reply that just ended and records the score; shows the user what Claude saved at their request."""

import sys

# This file has to parse on any Python, so that one that is too old says why and lets the turn end.
if sys.version_info < (3, 9):
    sys.stderr.write("memory: nothing is scored: Python %d.%d is older than 3.9\n" % sys.version_info[:2])
    sys.exit(0)

import os.path

# From __file__, for the host does not always export our folder; first, so that no installed copy wins.
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "scripts"))

try:
    from memory_plugin.hooks import run_hook

    status = run_hook("Stop")
except Exception as error:  # with any other exit code the hook command starts the next Python
    sys.stderr.write("memory: %s: %s\n" % (type(error).__name__, str(error)[:200].replace("\n", " ")))
    status = 0
sys.exit(status)
