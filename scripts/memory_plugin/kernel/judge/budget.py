"""What all processes of a user share: money spent, sessions switched off, servers paused after failures, and earlier verdicts.

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
from ..fastjson import digest, dumps, loads
from ..files import FileLock, Unreadable, make_folder, read_regular, replace_file
from ..paths import load_data, read_state, write_state
from .question import JudgeError, Values, Verdict

Book = dict[str, Any]

_MIN_WAIT, _MAX_WAIT = 0.1, 1.0  # seconds for the lock
_ROUNDING = 1e-9  # dollars; sums of decimal fractions are not exact
_MAX_BYTES = 1 << 20
# The entries of the file and of each row in it, with their types.
_BOOK: Book = {"day": "", "spent": 0.0, "requested": 0.0, "sessions": {}, "servers": {}, "refused": {}}
_ROWS: Book = {
    "sessions": {"spent": 0.0, "off": "", "at": 0.0},
    "servers": {"until": 0.0, "why": "", "silent": 0},
    "refused": {"at": 0.0, "parts": []},
}


class Caps(NamedTuple):
    """US dollars in one session and in one UTC day.

    `day` None: the user asked for this work and agreed to its price. It has the cap of a request and does not count for the day.
    """

    session: float
    day: float | None

    @property
    def total(self) -> str:
        """Return the name of the day's total to which a call counts."""
        return "requested" if self.day is None else "spent"


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
            need = sum(needs)
            bounds = [("request" if caps.day is None else "session", account["spent"], caps.session)]
            if caps.day is not None:
                bounds.append(("day", book[caps.total], caps.day))
            for name, spent, cap in bounds:
                if spent + need > cap + _ROUNDING:
                    raise JudgeError("over_budget", "the cap of $%.2f a %s is reached" % (cap, name))
            account["spent"] += need
            book[caps.total] += need

    def settle(self, session: str, server: str, ends: Sequence[tuple[float, Verdict]], caps: Caps) -> str:
        """Correct the reservations of calls that have ended; return the failure that has just switched the session off, or "".

        Each end has the cost less what was reserved under the same caps, and the verdict. Raises JudgeError `no_state`; then the
        reservations remain.
        """
        with self._open() as book:
            account, row = _session(book, session), _server(book, server)
            was_off = account["off"]
            for correction, verdict in ends:
                for totals, name in ((account, "spent"), (book, caps.total)):
                    totals[name] = max(0.0, totals[name] + correction)
                if verdict.failure in ("http_401", "http_403"):
                    account["off"] = verdict.failure
                _pause_after(row, verdict)
            return "" if was_off else str(account["off"])

    def refused(self, server: str) -> frozenset[str]:
        """Return the parts of a request that a model at a server has rejected before. Raises JudgeError `no_state`."""
        row = self._read()["refused"].get(_name(server))
        fresh = row is not None and 0 <= now() - row["at"] < _limit("refused", "seconds")
        return frozenset(map(str, row["parts"])) if fresh else frozenset()

    def note_refused(self, server: str, parts: frozenset[str]) -> None:
        """Remember the parts of a request that a model at a server rejects. Raises JudgeError `no_state`."""
        with self._open() as book:
            book["refused"][_name(server)] = {"at": now(), "parts": sorted(parts)}

    def figures(self, session: str) -> Spending:
        """Return what has been spent, and what is switched off. Raises JudgeError `no_state`."""
        book = self._read()
        account = _session(book, session)
        return Spending(book["spent"], account["spent"], account["off"])

    def reset(self) -> None:
        """Switch all sessions on and end all pauses. The spending remains; only a damaged file is deleted. Raises JudgeError `no_state`."""
        try:
            with self._open() as book:
                book["servers"], book["refused"] = {}, {}
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
        content: Any = None
        try:
            content = loads(read_regular(self._path(), _MAX_BYTES)[0].decode("ascii"))
        except FileNotFoundError:
            content = loads(dumps(_BOOK))
        except (Unreadable, ValueError):
            pass
        if not _is_intact(content):
            raise _Damaged("no_state", "the record of spending is damaged; run: memory judge reset")
        book: Book = content
        if book["day"] != today:
            book.update(day=today, spent=0.0, requested=0.0)
        return book


def _is_intact(book: Any) -> bool:  # noqa: ANN401 (any JSON)
    """Return whether the content of the file can be counted on: an invalid amount would lift the caps."""
    rows = ((row, form) for kind, form in _ROWS.items() for row in book[kind].values())
    return _has_form(book, _BOOK) and all(_has_form(*pair) for pair in rows)


def _has_form(value: object, form: Book) -> bool:
    """Return whether a value has exactly the entries of a form, with their types, and only possible amounts."""
    if not isinstance(value, dict) or value.keys() != form.keys():
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
    row: Book = book["servers"].setdefault(_name(server), dict(_ROWS["servers"]))
    return row


def _name(server: str) -> str:
    return digest(server.encode("utf-8", "replace"), 8)


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
    """Delete the oldest sessions and rejected parts, and servers without failures."""
    for kind in ("sessions", "refused"):
        newest = sorted(book[kind].items(), key=lambda item: -item[1]["at"])
        book[kind] = dict(newest[: _limit(kind, "entries")])
    servers = book["servers"].items()
    book["servers"] = {name: row for name, row in servers if row["until"] > now() or row["silent"]}


class VerdictCache:
    """The file `verdicts.json` in a folder, which holds digests and values, no text: the same question is paid for once a week.

    It has no lock: of two writers one may lose an entry, which costs one more question.
    """

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "verdicts.json")

    def find(self, keys: Sequence[str]) -> dict[str, Values]:
        """Return the values of earlier verdicts on some questions, by the key of the question, if they are not too old."""
        rows = self._rows()
        return {key: rows[key][1] for key in keys if key in rows}

    def add(self, verdicts: dict[str, Values]) -> None:
        """Store some verdicts. Raises OSError."""
        rows = {**self._rows(), **{key: [now(), values] for key, values in verdicts.items()}}
        newest = sorted(rows.items(), key=lambda item: -item[1][0])[: _limit("cache", "entries")]
        write_state(self._path, dict(newest))

    def clear(self) -> int:
        """Delete all verdicts and return how many there were. Raises OSError."""
        count = len(self._rows())
        if count:
            os.unlink(self._path)
        return count

    def _rows(self) -> dict[str, list[Any]]:
        return {key: row for key, row in read_state(self._path, _MAX_BYTES).items() if _is_fresh(row)}


def _is_fresh(row: object) -> bool:
    return (
        isinstance(row, list)
        and list(map(type, row)) == [float, dict]
        and 0 <= now() - row[0] < _limit("cache", "seconds")
    )
