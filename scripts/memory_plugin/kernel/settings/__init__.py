"""The settings in effect, the problems of settings files, and how one file is read."""

from __future__ import annotations

import os
import stat

from ..fastjson import as_integer, as_number, as_object, as_text, as_texts, loads
from ..files import Unreadable, read_regular
from ..paths import data_path, load_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MAX_BYTES = 1_000_000
_BOM = b"\xef\xbb\xbf"
DEFAULT = "default"
USER = "user"
PROJECT = "project"
LOCAL = "local"
JUDGE_ENABLED = ".judge.enabled"


class SettingsFileError(Exception):
    """Raised for a settings file that cannot be used, with what was expected and what was found."""

    def __init__(self, expected: str, got: str) -> None:
        super().__init__("expected %s, got %s" % (expected, got))
        self.expected = expected
        self.got = got


class Problem:
    """Something in a settings file that is ignored.

    `kind` is "file" (the file cannot be read), "unknown" (no such key), "value" (wrong type or out of range) or "refused" (a project's file
    may not set it). `path` is the path of the key inside the file, empty for a problem of the file. `got` never contains a text that could
    be a secret. `item`, the invalid item of a list, may contain one and must not be shown.
    """

    def __init__(
        self, kind: str, file: str, path: tuple[str, ...], expected: str, got: str, item: object = None
    ) -> None:
        self.kind = kind
        self.file = file
        self.path = path
        self.expected = expected
        self.got = got
        self.item = item

    @property
    def key(self) -> str:
        """Return the key as `memory config` takes it, without a leading `memory.`; empty for a problem of the file."""
        return ".".join(self.path[1:] if self.path[:1] == ("memory",) and self.path[1:] else self.path)


class Settings:
    """The settings in effect. Every key of `config/defaults.json` has a value of the right type.

    One default differs from that file: a feature's `judge.enabled` is False until the user's own file has the block `<feature>.judge`,
    because a judge sends text to a provider and costs money. Inside that block the default is true.
    """

    def __init__(self, defaults: Mapping[str, object]) -> None:
        self._values = dict(defaults)
        self._own: dict[str, object] = {}
        self._origins: dict[str, str] = {}
        self.files: dict[str, str] = {}
        self.problems: list[Problem] = []
        for key in self._values:
            if key.endswith(JUDGE_ENABLED):
                self._values[key] = False

    def set_value(self, key: str, value: object, layer: str) -> None:
        """Set a key's value, merged into an object, and the layer that decided it."""
        self._values[key] = merged(self.get(key), value)
        self._origins[key] = layer

    def user_values(self) -> dict[str, object]:
        """Return the values at the first call, which comes before a project's file is applied."""
        self._own = self._own or dict(self._values)
        return self._own

    def user_number(self, key: str) -> float:
        """Return the number under a key without the project's files; 0.0 if it is not a number."""
        return float(as_number(_value_at(self._own or self._values, key)) or 0)

    def with_values(self, values: Mapping[str, object]) -> Settings:
        """Return a copy of the settings with other values for some keys."""
        other = Settings({})
        other._values = {**self._values, **values}
        other._own = {**self._own, **values} if self._own else {}
        other._origins, other.files, other.problems = self._origins, self.files, self.problems
        return other

    def all_keys(self) -> list[str]:
        """Return all keys, in the order of the defaults."""
        return list(self._values)

    def get(self, key: str) -> object:
        """Return the value of a key, or of a name below a key whose value is an object; None for an unknown one."""
        return _value_at(self._values, key)

    def flag(self, key: str) -> bool:
        """Return the switch under a key; False if it is not a boolean."""
        return self.get(key) is True

    def integer(self, key: str) -> int:
        """Return the whole number under a key; 0 if it is not one."""
        return as_integer(self.get(key)) or 0

    def number(self, key: str) -> float:
        """Return the number under a key; 0.0 if it is not a number."""
        return float(as_number(self.get(key)) or 0)

    def text(self, key: str) -> str:
        """Return the string under a key, or "" if it is not a string."""
        return as_text(self.get(key))

    def texts(self, key: str) -> list[str]:
        """Return the strings of the list under a key; empty if it is not a list."""
        return as_texts(self.get(key))

    def block(self, key: str) -> dict[str, Any]:
        """Return the object under a key; empty if it is not one."""
        return as_object(self.get(key))

    def origin(self, key: str) -> str:
        """Return the layer that decided a key: DEFAULT, USER, PROJECT or LOCAL; `files` has each layer's path."""
        above = key.rpartition(".")[0]
        return self._origins.get(key) or (self.origin(above) if above else DEFAULT)

    def to_set(self, key: str, value: str) -> str:
        """Return how a person gives a key a value: by a command, or in the project's file, where that file decides."""
        if self.origin(key) not in (PROJECT, LOCAL):
            return "memory config set %s %s" % (key, value)
        from ..text.clean import terminal_safe  # few commands print this

        return "remove %s from %s" % (key, terminal_safe(self.files[self.origin(key)]))

    def is_judge_enabled(self, feature: str) -> bool:
        """Return whether a feature may ask its judge.

        True only if the user's own file switches it on, and the project's does not switch it off.
        """
        if not self._values:  # a damaged installation
            return False
        key, on, _ = judge_switches()[feature]
        return self._values.get(key) in on


def judge_switches() -> dict[str, tuple[str, list[object], object]]:
    """Return the switch of each feature's judge: its key, the values that switch it on, the usual one first, and the one for off."""
    table = load_data("judges", "switches")["switches"]
    return {feature: (row["key"], row["on"], row["off"]) for feature, row in table.items()}


def feature_name(feature: str) -> str:
    """Return what texts and commands call a feature; another text is returned unchanged."""
    return str(load_data("judges", "switches")["switches"].get(feature, {}).get("name", feature))


def _value_at(values: Mapping[str, object], key: str) -> object:
    if key in values:
        return values[key]
    above, _, name = key.rpartition(".")
    block = _value_at(values, above) if above else None
    return block.get(name) if isinstance(block, dict) else None


def merged(shipped: Any, changes: Any) -> Any:  # noqa: ANN401 (any JSON)
    """Return a value with the user's changes: those of an object by name, those of a list of entries by their ids."""
    if isinstance(changes, dict) and isinstance(shipped, list):
        return [merged(entry, changes.get(entry["id"], {})) for entry in shipped]
    if isinstance(changes, dict) and isinstance(shipped, dict):
        return {**shipped, **{name: merged(shipped.get(name), value) for name, value in changes.items()}}
    return changes


def content(path: str, follow: bool = False) -> dict[str, object]:
    """Return the JSON object in a settings file; empty for an empty file.

    A link is followed only for the user's own file, which may be in a folder of dotfiles. Elsewhere neither the file nor its folder may be
    one. Raises FileNotFoundError and SettingsFileError.
    """
    try:
        folder = os.path.dirname(path)
        if not follow and stat.S_ISLNK(os.lstat(folder).st_mode) and os.path.lexists(path):
            raise SettingsFileError("a folder", "a symbolic link, " + folder)
        return decoded(read_regular(path, MAX_BYTES, follow)[0])
    except FileNotFoundError:
        raise
    except Unreadable as error:
        raise SettingsFileError("a readable file of at most %d bytes" % MAX_BYTES, str(error)) from None
    except (OSError, ValueError) as error:
        raise SettingsFileError("a readable file", str(error)) from None


def decoded(data: bytes) -> dict[str, object]:
    """Return the JSON object in the bytes of a settings file; empty for blank text. Raises SettingsFileError."""
    try:
        text = data.removeprefix(_BOM).decode("utf-8")
        value = loads(text) if text.strip() else {}
    except UnicodeDecodeError:
        raise SettingsFileError("text in UTF-8", "other bytes") from None
    except ValueError:
        raise SettingsFileError("JSON", "a text that is not JSON") from None
    if not isinstance(value, dict):
        raise SettingsFileError("a JSON object", "another JSON value")
    return value


def shipped(name: str) -> dict[str, Any]:
    """Return the content of a file of the plugin's own. Raises SettingsFileError for a damaged installation."""
    try:
        return content(data_path(name), follow=True)
    except FileNotFoundError:
        raise SettingsFileError("the plugin's own " + name, "nothing") from None
