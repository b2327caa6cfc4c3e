"""UserPromptSubmit: gives Claude the few stored memories that matter for a prompt, if there are any."""

import sys

# This file has to parse on any Python, so that one that is too old says why and lets the prompt through.
if sys.version_info < (3, 9):
    sys.stderr.write("memory: nothing is recalled: Python %d.%d is older than 3.9\n" % sys.version_info[:2])
    sys.exit(0)

import gc
import os

# The user waits for this process. It lives some milliseconds, so it neither looks for garbage nor, below, takes the interpreter apart:
# together that is a sixth of its time.
gc.disable()

# From __file__, for the host does not always export our folder; first, so that no installed copy wins.
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "scripts"))

try:
    from memory_plugin.hooks import run_hook

    status = run_hook("UserPromptSubmit")
except Exception as error:  # with any other exit code the hook command starts the next Python
    sys.stderr.write("memory: %s: %s\n" % (type(error).__name__, str(error)[:200].replace("\n", " ")))
    status = 0
os._exit(status)
