"""SessionStart: tells Claude the session catalog and the user what awaits approval, and refreshes the index in the background."""

import sys

# This file must parse on any Python, so that one that is too old can say so and let the session continue.
if sys.version_info < (3, 9):
    problem = "python3 is Python %d.%d, and 3.9 or newer is needed" % sys.version_info[:2]
    sys.stdout.write('{"systemMessage": "memory: Claude is shown nothing: %s"}' % problem)
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

    run_hook("SessionStart", is_waited_for=True)
except Exception as error:  # with any other exit code the hook command starts the next Python
    sys.stderr.write("memory: %s: %s\n" % (type(error).__name__, str(error)[:200].replace("\n", " ")))
    if isinstance(error, (ImportError, SyntaxError)):  # before anything was printed
        problem = "the plugin is damaged; install it again"
        sys.stdout.write('{"systemMessage": "memory: Claude is shown nothing: %s"}' % problem)
        sys.stdout.flush()
sys.exit(0)
