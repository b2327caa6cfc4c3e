"""SessionStart: heals the index in the background and says once what waits for the user's word."""

import sys

if sys.version_info < (3, 9):  # this file has to parse on any Python, so that an old one says why and lets the session start
    sys.stderr.write("memory: Python 3.9 or newer is needed, this is %d.%d; nothing is recalled\n" % sys.version_info[:2])
    sys.exit(0)

import os.path

# From __file__, for the host does not always export the plugin's folder; first, so that no installed copy is found before ours.
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "scripts"))

try:
    from memory_plugin.hosts.entry import run

    status = run("SessionStart")
except Exception as error:  # whatever is broken here, the host would read another exit code as a failed hook
    sys.stderr.write("memory: %s: %s\n" % (type(error).__name__, str(error)[:200].replace("\n", " ")))
    status = 0
sys.exit(status)
