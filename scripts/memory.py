"""The command line: exit 0 done, 1 failed or found problems, 2 usage."""

import sys

# This file has to parse on any Python, so that one that is too old says why.
if sys.version_info < (3, 9):
    sys.stderr.write("memory: Python %d.%d is older than 3.9\n" % sys.version_info[:2])
    sys.exit(1)

import os.path

# From __file__, so that links and any working folder do; first, so that no installed copy wins.
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from memory_plugin.cli import run_command

sys.exit(run_command(sys.argv[1:]))
