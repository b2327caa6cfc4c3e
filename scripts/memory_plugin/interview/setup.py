"""Load packs and build the setup of an interview, which is frozen at the start: config changes must not affect a running interview.

A pack is a JSON file that defines an interview's concept types, ladder, elements and changes to the scoring.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..kernel.fastjson import loads
from ..kernel.files import read_regular
from ..kernel.paths import data_path, load_data
from ..kernel.settings import merged
from ..kernel.settings.schema import Rule, mismatch
from ..kernel.text.clean import plain
from .answer_input import InvalidAnswer, clean_text
from .interview_store import InterviewError, Setup

SHIPPED = ("requirements", "means_end_chain")
MAX_TOPIC = 200
_MAX_BYTES = 1 << 18
_MAX_SHOWN = 200


def read_pack(name: str) -> dict[str, Any]:
    """Return a validated pack: a shipped one by its name, or the one in a file. Raises InterviewError."""
    path = data_path("interview", "packs", name + ".json") if name in SHIPPED else name
    try:
        data = loads(read_regular(path, _MAX_BYTES)[0].decode("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise InterviewError("%s: expected JSON in UTF-8: %s" % (path, error)) from None
    return check_pack(data, path)


def check_pack(data: object, source: str) -> dict[str, Any]:
    """Return a pack that fits `config/interview/pack.schema.json`. Raises InterviewError for the first problem; it names `source`."""
    problem = mismatch(Rule(load_data("interview", "pack.schema")), data)
    if problem is not None:
        path, expected, found, _ = problem
        key = plain(".".join(path), _MAX_SHOWN) or "the file"
        raise InterviewError("%s: %s: expected %s, got %s" % (source, key, expected, found))
    pack: Any = data
    ids = {key: [entry["id"] for entry in pack[key]] for key in ("types", "elements")}
    for key, allowed in (("ladder", ids["types"]), ("terminal", pack["ladder"])):
        if not set(allowed).issuperset(pack[key]):
            raise InterviewError("%s: %s: expected only %s" % (source, key, ", ".join(allowed)))
    for key, names in ids.items():
        if len(set(names)) < len(names):
            raise InterviewError("%s: %s: expected no duplicate ids" % (source, key))
    return dict(pack)


def new_setup(topic: str, pack: Mapping[str, Any], max_turns: int, changes: Mapping[str, Any]) -> Setup:
    """Return the frozen setup of an interview as plain JSON values.

    `max_turns` is the number of questions, and `changes` the setting `interview.scoring`.
    """
    strategies = {name: {"enabled": on} for name, on in pack.get("strategies", {}).items()}
    of_the_pack = {"strategies": strategies, "multipliers": pack.get("multipliers", {})}
    scoring = merged(merged(load_data("interview", "scoring"), dict(changes)), of_the_pack)
    elements: Any = [{"ask": "", "group": "", **element} for element in pack["elements"]]
    return {
        "topic": topic,
        "pack": {key: pack[key] for key in ("id", "types", "ladder", "terminal")},
        "elements": elements,
        "scoring": scoring,
        "max_turns": max_turns,
    }


def covered_elements(options: str, setup: Setup) -> dict[str, str]:
    """Return the elements of `a=SOURCE,b` that are known beforehand, with their source. Raises InvalidAnswer for an unknown one."""
    covered = {}
    known = sorted(element["id"] for element in setup["elements"])
    for option in options.split(","):
        name, _, source = option.partition("=")
        if name.strip() in known:
            covered[name.strip()] = clean_text(source) or "known beforehand"
        elif option.strip():
            raise InvalidAnswer("covered: expected one of %s, got %r" % (", ".join(known), name.strip()[:60]))
    return covered
