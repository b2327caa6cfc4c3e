"""What `load` returns: the values in effect and the problems found on the way."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["DEFAULT", "JUDGE_SWITCH", "LOCAL", "PROJECT", "USER", "Problem", "Settings"]

DEFAULT = "default"
USER = "user"
PROJECT = "project"
LOCAL = "local"

JUDGE_SWITCH = ".judge.enabled"


class Problem:
    """Something in a settings file that is not used.

    `kind` is "file" (the file itself cannot be read), "unknown" (no such key), "value" (wrong type or out of
    range) or "refused" (not for a project's files to say).  `path` leads to the key inside the file and is
    empty for a problem of the file.  `got` never holds a text that could be a secret; `item`, what of a list
    does not fit, may, and is not to be shown.
    """

    __slots__ = ("expected", "file", "got", "item", "kind", "path")

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
        """The key as `memory config` takes it, without a leading `memory.`; empty for the whole file."""
        return ".".join(self.path[1:] if self.path[:1] == ("memory",) and self.path[1:] else self.path)


class Settings:
    """The settings in effect. Every key of `config/defaults.json` has a value of the right type.

    One default differs: a feature's `judge.enabled` is False until the user's own file holds the block
    `<feature>.judge`, because a judge sends text out and costs money; inside that block it is true unless
    said otherwise.
    """

    __slots__ = ("_origins", "_users", "_values", "files", "problems")

    def __init__(self, defaults: Mapping[str, object]) -> None:
        self._values = dict(defaults)
        self._origins: dict[str, str] = {}
        self._users: dict[str, object] = {}
        self.files: dict[str, str] = {}
        self.problems: list[Problem] = []
        for feature in self.judge_features():
            self._values[feature + JUDGE_SWITCH] = False

    def put(self, key: str, value: object, layer: str) -> None:
        """Let a layer decide a key."""
        if layer in (PROJECT, LOCAL):
            self._users.setdefault(key, self._values.get(key))
        self._values[key] = value
        self._origins[key] = layer

    def varied(self, values: Mapping[str, object]) -> Settings:
        """These settings with other values for some keys; these themselves stay as they are."""
        other = Settings({**self._values, **values})
        other._values.update(self._values, **values)
        other._origins, other.files, other.problems = self._origins, self.files, self.problems
        other._users = self._users
        return other

    def names(self) -> list[str]:
        """All keys, in the order of the defaults."""
        return list(self._values)

    def get(self, key: str) -> object:
        """The value of a key; None for a key that does not exist."""
        return self._values.get(key)

    def flag(self, key: str) -> bool:
        """The switch under a key; False when it holds none."""
        return self._values.get(key) is True

    def integer(self, key: str) -> int:
        """The whole number under a key; 0 when it holds none."""
        value = self._values.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    def number(self, key: str) -> float:
        """The number under a key; 0.0 when it holds none."""
        value = self._values.get(key)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0

    def users_number(self, key: str) -> float:
        """Return the number under a key as the user has it, whatever the project makes of it; 0.0 when it holds none."""
        value = self._users.get(key, self._values.get(key))
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0

    def text(self, key: str) -> str:
        """The text under a key; empty when it holds none."""
        value = self._values.get(key)
        return value if isinstance(value, str) else ""

    def texts(self, key: str) -> list[str]:
        """The texts of the list under a key; empty when it holds none."""
        value = self._values.get(key)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

    def block(self, key: str) -> dict[str, Any]:
        """The names of the user's own under a key, with their values; empty when it holds none."""
        value = self._values.get(key)
        return value if isinstance(value, dict) else {}

    def origin(self, key: str) -> str:
        """The layer that decided a key: DEFAULT, USER, PROJECT or LOCAL; `files` has each layer's path."""
        return self._origins.get(key, DEFAULT)

    def judge_asked_for(self, feature: str) -> bool:
        """Whether a feature may ask its judge.

        True only when the user's own file holds the block `<feature>.judge` and nobody switched it off,
        there or in the project.
        """
        return self.flag(feature + JUDGE_SWITCH)

    def judge_features(self) -> list[str]:
        """The features that can have a judge."""
        return [key[: -len(JUDGE_SWITCH)] for key in self._values if key.endswith(JUDGE_SWITCH)]
