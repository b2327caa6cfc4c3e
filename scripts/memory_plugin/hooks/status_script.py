"""Write the status line script, which is in the state folder and named in the user's settings.

Settings cannot name the plugin's folder, which changes with its version, so SessionStart writes the current folder into the script.
"""

from __future__ import annotations

import os
from shlex import quote

from ..kernel.files import read_regular, replace_file
from ..kernel.paths import data_path
from .status_line import FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.paths import Paths

BEFORE = "before.sh"
_MAX_BYTES = 64 * 1024
_SCRIPT = """\
#!/bin/sh
# Written by `memory config statusline install`, and again when a session starts, because the plugin's folder changes with its version.
CLAUDE_CONFIG_DIR=%(config)s
export CLAUDE_CONFIG_DIR
script=%(script)s
before=%(before)s
ours() {
    if [ ! -f "$script" ]; then
        echo "memory: the plugin is gone from where it was; start a new session, or remove this line from your settings"
    elif command -v python3 >/dev/null 2>&1; then
        python3 -I -S "$script" statusline 2>/dev/null || echo "memory: recall is off, because python3 is older than 3.9"
    else
        python -I -S "$script" statusline 2>/dev/null || echo "memory: recall is off, because there is no Python 3.9 or newer"
    fi
}
if [ -f "$before" ]; then
    input=$(cat)
    theirs=$(printf '%%s' "$input" | sh "$before")
    line=$(printf '%%s' "$input" | ours)
    printf '%%s\\n' "${theirs:+$theirs \u00b7 }$line"
else
    ours
fi
"""


def script_path(paths: Paths) -> str:
    """Return the path of the script. Raises RuntimeError without a state folder."""
    return paths.state(FOLDER, "line.sh")


def script_text(paths: Paths) -> str:
    """Return the script for this installation of the plugin."""
    plugin = os.path.dirname(data_path())
    values = {
        "config": quote(os.path.dirname(os.path.dirname(paths.state()))),
        "script": quote(os.path.join(plugin.rstrip(os.sep), "scripts", "memory.py")),
        "before": quote(paths.state(FOLDER, BEFORE)),
    }
    return _SCRIPT % values


def refresh_script(paths: Paths) -> None:
    """Rewrite the script if it exists and is out of date. Raises OSError."""
    path = script_path(paths)
    try:
        present = read_regular(path, _MAX_BYTES)[0]
    except OSError:
        return
    text = script_text(paths).encode("utf-8")
    if present != text:
        replace_file(path, text, durable=False)
