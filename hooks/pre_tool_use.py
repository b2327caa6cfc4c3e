"""PreToolUse: lets a trusted guard answer a call that it covers, and gives Claude the memories about the file of a call."""

import sys

# This file must parse on any Python, so that one that is too old can say so and let the session continue.
if sys.version_info < (3, 9):
    sys.stderr.write(
        "memory: Claude is shown nothing: Python %d.%d is older than 3.9\n" % sys.version_info[:2]
    )
    sys.exit(0)

# Derived from __file__: the host does not always export our folder. First, so that no installed copy is used. A link, or Windows, needs
# `os.path`, whose import would be a sixth of the time of a prompt that is skipped.
if "posix" in sys.builtin_module_names and __import__("posix").lstat(__file__).st_mode >> 12 == 8:
    root = __file__.rpartition("/")[0] + "/.."
else:
    from os.path import dirname, realpath

    root = dirname(dirname(realpath(__file__)))
sys.path.insert(0, root + "/scripts")

try:
    from memory_plugin.hooks import run_hook

    run_hook("PreToolUse", is_waited_for=True)
except Exception as error:  # with any other exit code the hook command starts the next Python
    sys.stderr.write("memory: %s: %s\n" % (type(error).__name__, str(error)[:200].replace("\n", " ")))
sys.exit(0)
