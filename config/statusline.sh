#!/bin/sh
# Written by `memory config statusline install`, and again when a session starts, because the plugin's folder changes with its version.
CLAUDE_CONFIG_DIR=@CONFIG@
export CLAUDE_CONFIG_DIR
script=@SCRIPT@
before=@BEFORE@
ours() {
    if [ ! -f "$script" ]; then
        echo "memory: the plugin is gone from where it was; start a new session, or remove this line from your settings"
        return
    fi
    python3 -I -S "$script" statusline 2>/dev/null || python -I -S "$script" statusline 2>/dev/null ||
        echo "memory: recall is off, because there is no Python 3.9 or newer"
}
if [ -f "$before" ]; then
    input=$(cat)
    theirs=$(printf '%s' "$input" | sh "$before")
    line=$(printf '%s' "$input" | ours)
    printf '%s\n' "${theirs:+$theirs · }$line"
else
    ours
fi
