"""The ledgers `recalls` and `feedback`: their forms, their latest rows, and the memories that a session was shown."""

from __future__ import annotations

from ..kernel import records
from ..kernel.fastjson import as_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.context import Context

_TAIL_BYTES = 64 * 1024
_MAX_MEMORIES = 30
# Rules of the catalog are injected in every session, so repeating one means little. A sub-agent's memories are not in Claude's context.
_IGNORED_PLACES = ("catalog", "subagent")
# The fields of a record that tell how a memory was injected.
_FIELDS = ("place", "tool_use_id", "prompt_id", "outcome")

_VOTES = ((bool, bool), (bool, type(None)), (type(None), bool), (type(None), type(None)))
_CANDIDATE = {
    **dict.fromkeys(("key", "way", "withheld"), records.text),
    **dict.fromkeys(("confidence", "pointer_confidence"), records.number_or_null),
    **dict.fromkeys(("score", "shift"), records.signed),
    "parts": records.mapping,
}


def _candidates(value: object) -> object:
    if not isinstance(value, list):
        return records.WRONG
    found = [records.checked(item, _CANDIDATE) for item in value if isinstance(item, dict)]
    return [item for item in found if "key" in item]


def _verdicts(value: object) -> object:
    """Check the judges' votes on each candidate: relevant and useful, each true, false, or null if that judge gave none."""
    if not isinstance(value, dict):
        return records.WRONG
    return {
        key: pair
        for key, pair in value.items()
        if isinstance(pair, list) and tuple(map(type, pair)) in _VOTES
    }


def _judge(value: object) -> object:
    form = {"path": records.text, "reasons": records.texts, "verdicts": _verdicts}
    return records.checked(value, form) if isinstance(value, dict) else records.WRONG


RECALLS = records.Form(
    "recalls",
    {
        **dict.fromkeys(("place", "outcome", "reason", "problem", "prompt_id", "tool_use_id"), records.text),
        **dict.fromkeys(("prompt", "answered_by"), records.text),
        **dict.fromkeys(("injected", "pointed", "guards", "sessions"), records.texts),
        **dict.fromkeys(("tokens", "rules", "listed", "unlisted"), records.count),
        **dict.fromkeys(("inject_threshold", "pointer_threshold", "ms"), records.number_or_null),
        "candidates": _candidates,
        "judge": _judge,
    },
)
FEEDBACK = records.Form("feedback", {"memories": records.texts})


def latest_rows(form: records.Form, context: Context) -> records.Records:
    """Return the rows of the project at the end of a ledger, the oldest first."""
    return records.Records(context.paths.state(), form, project=context.paths.project_key, tail=_TAIL_BYTES)


def injected_in_session(context: Context) -> dict[str, dict[str, str]]:
    """Return the records by which memories were injected in this session, by key, at most the last 30, from the end of the ledger.

    If its guard was asked since, the record is that of the guard, but with the place and the call of the injection. Empty if the ledger
    cannot be read.
    """
    injected: dict[str, dict[str, str]] = {}
    for row in latest_rows(RECALLS, context):
        if row.get("session") == context.session and row.get("place") not in _IGNORED_PLACES:
            fields = {name: as_text(row.get(name)) for name in _FIELDS}
            for key in row.get("guards") or row.get("injected", ()):
                if "guards" in row and key in injected:
                    where = {name: injected[key][name] for name in ("place", "tool_use_id")}
                    injected[key] = {**fields, **where}
                elif key in row.get("injected", ()):
                    injected[key] = fields
    return dict(list(injected.items())[-_MAX_MEMORIES:])
