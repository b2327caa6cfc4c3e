"""How much one refresh of the index takes on, in files and characters, so that no store can make a prompt wait."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    Item = TypeVar("Item")

__all__ = ["Share", "batches", "cost", "prompt_share", "round_share"]

# Characters of one memory that are redacted at most: 30,000 of the body, 10,120 of the title, 4,000 of each list.
LARGEST = 53_248
# About 1 ms a file on a small machine. Text made to keep the rules busy takes 5 to 10 microseconds a character, so half a second.
PROMPT_FILES = 60
PROMPT_ENTRIES = 20_000
# A round ends to let others at the index, not to save time.
ROUND_FILES = 10_000
ROUND_CHARACTERS = 16 << 20
# What is parsed lies in memory until it is written: up to 24 times as many bytes as in the file.
_BATCH_FILES = 3000
_BATCH_BYTES = 2 << 20


class Share:
    """What a refresh may still take on: `files`, `characters` to redact, and how many directory `entries` a store may have (None: any).

    `wanted` are the words of the prompt that waits for it; memories that are named after one come first.
    """

    __slots__ = ("characters", "entries", "files", "wanted")

    def __init__(self, files: int, characters: int, entries: int | None = None) -> None:
        self.files = files
        self.characters = characters
        self.entries = entries
        self.wanted: frozenset[str] = frozenset()

    def take(self, characters: int) -> bool:
        """Take one file of so many characters, or return False and take nothing."""
        if self.files < 1 or self.characters < characters:
            return False
        self.files -= 1
        self.characters -= characters
        return True


def prompt_share() -> Share:
    """Return what a prompt takes on; it holds any one memory, so that prompts alone reach the end of every backlog."""
    return Share(PROMPT_FILES, LARGEST, PROMPT_ENTRIES)


def round_share() -> Share:
    """Return what a command or the detached process takes on before it lets others at the index."""
    return Share(ROUND_FILES, ROUND_CHARACTERS)


def cost(size: int) -> int:
    """Return the characters that a memory file of `size` bytes makes us redact at most."""
    return min(size, LARGEST)


def batches(files: Iterable[Item], size: Callable[[Item], int]) -> list[list[Item]]:
    """Return the files in batches that fit into memory; the order is kept."""
    found: list[list[Item]] = []
    room = 0
    for file in files:
        if not found or len(found[-1]) >= _BATCH_FILES or room < size(file):
            found.append([])
            room = _BATCH_BYTES
        found[-1].append(file)
        room -= size(file)
    return found
