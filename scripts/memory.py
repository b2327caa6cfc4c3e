"""The command line: `python3 scripts/memory.py COMMAND ...`; exit 0 done, 1 failed or found problems, 2 usage."""

import sys

if sys.version_info < (3, 9):  # this file has to parse on any Python, so that an old one says why
    sys.stderr.write("memory: Python 3.9 or newer is needed, this is %d.%d\n" % sys.version_info[:2])
    sys.exit(1)

import os.path

# From __file__, so that links and any working folder do; first, so that no installed copy is found before ours.
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from memory_plugin.hosts.command_line import main  # noqa: E402 (after the path is known)

sys.exit(main(sys.argv[1:]))
