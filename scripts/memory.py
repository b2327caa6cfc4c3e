"""The command line: exit 0 done, 1 failed or found problems, 2 usage."""

import sys

# This file has to parse on any Python, so that one that is too old says why.
if sys.version_info < (3, 9):
    sys.stderr.write("memory: Python %d.%d is older than 3.9\n" % sys.version_info[:2])
    sys.exit(1)

# From __file__, so that links and any working folder do; first, so that no installed copy wins. Only a link, or Windows, needs `os.path`.
if "posix" in sys.builtin_module_names and __import__("posix").lstat(__file__).st_mode >> 12 == 8:
    folder = __file__.rpartition("/")[0]
else:
    from os.path import dirname, realpath

    folder = dirname(realpath(__file__))
sys.path.insert(0, folder)

if sys.argv[1:] == ["statusline"]:  # the client runs it after each message: no command line is set up for it
    from memory_plugin.hooks import run_status_line

    run_status_line()

from memory_plugin.cli import run_command

sys.exit(run_command())
