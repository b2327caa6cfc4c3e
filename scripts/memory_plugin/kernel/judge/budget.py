"""What all processes of a user share: money spent, sessions switched off, servers paused after failures, and what calls have shown.

The budget is one small file under a lock. The caps hold over parallel processes because the highest possible cost of a call is reserved
before the call and settled afterwards. If a process dies in between, its reservation counts as spent. `config/judges/limits.json` says how
long a server is paused (a circuit breaker) and how many entries are kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from ..context import Deadline, iso, now
from ..fastjson import digest, dumps, load_object, loads
from ..files import FileLock, Unreadable, make_folder, read_regular, replace_file
from ..paths import load_data, read_state, write_state
from .question import JudgeError, Values, Verdict

Book = dict[str, Any]

_MIN_WAIT, _MAX_WAIT = 0.1, 1.0  # seconds for the lock
_ROUNDING = 1e-9  # dollars; sums of decimal fractions are not exact
_MAX_BYTES = 1 << 20
# The entries of the file and of each row in it, with their types; others may follow.
_BOOK: Book = {"day": "", "spent": 0.0, "sessions": {}, "servers": {}}
_ROWS: Book = {
    "sessions": {"spent": 0.0, "off": "", "at": 0.0},
    "servers": {"until": 0.0, "why": "", "silent": 0},
}
VERDICTS, REFUSED = "verdicts", "refused"  # kinds of what is remembered


class Caps(NamedTuple):
    """US dollars in one session and in one UTC day.

    `day` None: the user asked for this work and agreed to its price. It has the cap of a request and does not count for the day.
    """

    session: float
    day: float | None

    def bounds(self, account: Book, book: Book) -> list[tuple[str, Book, float]]:
        """Return the totals to which a call counts, each with its name and its cap."""
        if self.day is None:
            return [("request", account, self.session)]
        return [("session", account, self.session), ("day", book, self.day)]


class Spending(NamedTuple):
    """Figures for display: US dollars spent today and in this session, and what switched the session off."""

    day: float
    session: float
    off: str


class _Damaged(JudgeError):
    """Raised when the file is damaged: the spending so far is unknown, so nothing more may be spent."""


@cache
def _limit(block: str, name: str) -> int:
    """Return one limit, in seconds or as a count."""
    return int(load_data("judges", "limits")[block][name])


class SpendingBudget:
    """The file `accounts.json` in a folder. Its lock is awaited until the deadline, at least 0.1 s and at most 1 s."""

    def __init__(self, folder: str, deadline: Deadline | None = None) -> None:
        self._folder = folder
        self._deadline = deadline

    def admit(self, session: str, server: str, needs: Sequence[float], caps: Caps) -> None:
        """Reserve the cost of some calls, all or none.

        Raises JudgeError: disabled (the session is switched off), circuit_open, over_budget, no_state.
        """
        with self._open() as book:
            account = _session(book, session)
            if account["off"]:
                raise JudgeError("disabled", "off for this session after %s" % account["off"])
            row = _server(book, server)
            pause = row["until"] - now()
            if 0 < pause <= _limit("breaker", "longest"):
                raise JudgeError("circuit_open", "after %s, for %d more seconds" % (row["why"], pause + 1))
            for name, total, cap in caps.bounds(account, book):
                total["spent"] += sum(needs)
                if total["spent"] > cap + _ROUNDING:
                    raise JudgeError("over_budget", "the cap of $%.2f a %s is reached" % (cap, name))

    def settle(self, session: str, server: str, ends: Sequence[tuple[float, Verdict]], caps: Caps) -> str:
        """Correct the reservations of calls that have ended; return the failure that has just switched the session off, or "".

        Each end has the cost less what was reserved under the same caps, and the verdict. Raises JudgeError `no_state`; then the
        reservations remain.
        """
        with self._open() as book:
            account, row = _session(book, session), _server(book, server)
            was_off = account["off"]
            for correction, verdict in ends:
                for _, total, _ in caps.bounds(account, book):
                    total["spent"] = max(0.0, total["spent"] + correction)
                if verdict.failure in ("http_401", "http_403"):
                    account["off"] = verdict.failure
                _pause_after(row, verdict)
            return "" if was_off else str(account["off"])

    def figures(self, session: str) -> Spending:
        """Return what has been spent, and what is switched off. Raises JudgeError `no_state`."""
        book = self._read()
        account = _session(book, session)
        return Spending(book["spent"], account["spent"], account["off"])

    def reset(self) -> None:
        """Switch all sessions on and end all pauses. The spending remains; only a damaged file is deleted. Raises JudgeError `no_state`."""
        try:
            with self._open() as book:
                book["servers"] = {}
                for account in book["sessions"].values():
                    account["off"] = ""
        except _Damaged:
            os.unlink(self._path())

    def _path(self) -> str:
        return os.path.join(self._folder, "accounts.json")

    @contextmanager
    def _open(self) -> Iterator[Book]:
        """Yield the book under its lock, and write it back unless an error is raised."""
        wait = _MAX_WAIT if self._deadline is None else self._deadline.remaining()
        wait = max(_MIN_WAIT, min(_MAX_WAIT, wait))
        try:
            make_folder(self._folder)
            with FileLock(os.path.join(self._folder, "accounts.lock"), wait):
                book = self._read()
                yield book
                _prune(book)
                replace_file(self._path(), dumps(book).encode("ascii"), durable=False)
        except OSError as error:
            why = "spending cannot be recorded: %s" % (error.strerror or error)
            raise JudgeError("no_state", why) from None

    def _read(self) -> Book:
        today = iso(now())[:10]
        try:
            content: Any = load_object(read_regular(self._path(), _MAX_BYTES)[0])
        except FileNotFoundError:
            content = loads(dumps(_BOOK))
        except Unreadable:
            content = None
        if not _is_intact(content):
            raise _Damaged("no_state", "the record of spending is damaged; run: memory judge reset")
        book: Book = content
        if book["day"] != today:
            book.update(day=today, spent=0.0)
        return book


def _is_intact(book: Any) -> bool:  # noqa: ANN401 (any JSON)
    """Return whether the content of the file can be counted on: an invalid amount would lift the caps."""
    rows = ((row, form) for kind, form in _ROWS.items() for row in book[kind].values())
    return _has_form(book, _BOOK) and all(_has_form(*pair) for pair in rows)


def _has_form(value: object, form: Book) -> bool:
    """Return whether a value has the entries of a form, with their types, and only possible amounts."""
    if not isinstance(value, dict) or not form.keys() <= value.keys():
        return False
    return all(
        type(value[name]) in (int, float) and 0 <= value[name] < 1e12
        if isinstance(example, (int, float))
        else isinstance(value[name], type(example))
        for name, example in form.items()
    )


def _session(book: Book, session: str) -> Book:
    """Return the account of a session; calls outside a session share one account a day."""
    name = digest((session or book["day"]).encode("utf-8", "replace"), 8)
    account: Book = book["sessions"].setdefault(name, dict(_ROWS["sessions"]))
    account["at"] = now()
    return account


def _server(book: Book, server: str) -> Book:
    row: Book = book["servers"].setdefault(server, dict(_ROWS["servers"]))
    return row


def _pause_after(row: Book, end: Verdict) -> None:
    """Pause a server for the time that it asks for, or after several calls without an answer."""
    if end.failure in ("rate_limited", "overloaded"):
        wait = _limit("breaker", "unnamed") if end.wait is None else end.wait
        wait = min(max(wait, _limit("breaker", "shortest")), _limit("breaker", "longest"))
        if row["until"] < now() + wait:
            row.update(until=now() + wait, why=end.failure)
    elif end.failure in ("timeout", "network"):
        row["silent"] += 1
        if row["silent"] >= _limit("silence", "calls"):
            row.update(until=now() + _limit("silence", "seconds"), why=end.failure)
    else:
        row["silent"] = 0


def _prune(book: Book) -> None:
    """Delete the oldest sessions, and servers without failures."""
    newest = sorted(book["sessions"].items(), key=lambda item: -item[1]["at"])
    book["sessions"] = dict(newest[: _limit("sessions", "entries")])
    servers = book["servers"].items()
    book["servers"] = {name: row for name, row in servers if row["until"] > now() or row["silent"]}


class Remembered:
    """What may be lost without harm: earlier verdicts, by the key of the question, and the parts of a request that a server rejects.

    Each kind is a file in the folder that holds digests and values, no text. It has no lock: of two writers one may lose an entry, which
    costs one more question.
    """

    def __init__(self, folder: str, kind: str) -> None:
        self._path, self._kind = os.path.join(folder, kind + ".json"), kind

    def find(self, keys: Sequence[str]) -> dict[str, Values]:
        """Return the values under some keys, if they are not too old."""
        rows = self._rows()
        return {key: rows[key][1] for key in keys if key in rows}

    def add(self, values: dict[str, Values]) -> None:
        """Store values by key; the oldest make room. Raises OSError."""
        rows = {**self._rows(), **{key: [now(), value] for key, value in values.items()}}
        newest = sorted(rows.items(), key=lambda item: -item[1][0])[: _limit(self._kind, "entries")]
        write_state(self._path, dict(newest))

    def clear(self) -> int:
        """Delete all entries and return how many there were. Raises OSError."""
        count = len(self._rows())
        if count:
            os.unlink(self._path)
        return count

    def _rows(self) -> dict[str, list[Any]]:
        rows, seconds = read_state(self._path, _MAX_BYTES), _limit(self._kind, "seconds")
        return {key: row for key, row in rows.items() if _has_time(row) and 0 <= now() - row[0] < seconds}


def _has_time(row: object) -> bool:
    return isinstance(row, list) and list(map(type, row)) == [float, dict]
