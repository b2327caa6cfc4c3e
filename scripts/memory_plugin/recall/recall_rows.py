"""The ledgers `recalls` and `feedback`: their forms, their latest rows, the memories that a session was shown, and which of them it used.

A reply used a memory if the memory's rare words or paths occur in it or in its tool calls, or if it followed the memory's guard. Otherwise
the use is unknown, because Claude may follow a rule without repeating its words. The words of the prompt, and the tool call at which a
memory was injected, do not count as its use, because they triggered it.
"""

from __future__ import annotations

from ..kernel import records
from ..kernel.fastjson import as_text, as_texts, loads
from .index_file import INDEX_ERRORS, index_path, open_index, value_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.context import Context
    from ..kernel.sqlite import Connection
    from ..kernel.transcript.turn import Turn

    Injections = dict[str, dict[str, str]]  # the records by which memories were injected, by key

_TAIL_BYTES = 64 * 1024
_MAX_MEMORIES = 30
# Rules of the catalog are injected in every session, so repeating one means little. A sub-agent's memories are not in Claude's context.
IGNORED_PLACES = ("catalog", "subagent")
# The fields of a record that tell how a memory was injected.
_FIELDS = ("place", "tool_use_id", "prompt_id", "outcome")

_MAX_CHARACTERS = 20_000  # of the reply, of its tool calls and of the prompts, each
_TRANSCRIPT_BYTES = 256 * 1024
# A word is rare if at most this many memories of the store, or this share of them, and at most this share of everyday technical texts
# contain it.
_RARE_MEMORIES = 2
_RARE_MEMORIES_SHARE = 0.02
_RARE_SHARE = 0.002
_MIN_RARE = 4  # characters
_MIN_NAME = 5  # characters of a path or full name, one of which is enough
_MIN_RARE_WORDS = 2
_TOOL = "tool"
_AT_CALL = (_TOOL, "failure")

_VOTES = ((bool, bool), (bool, type(None)), (type(None), bool), (type(None), type(None)))
_CANDIDATE = {
    **dict.fromkeys(("key", "way", "withheld"), records.text),
    **dict.fromkeys(("confidence", "pointer_confidence"), records.number_or_null),
    **dict.fromkeys(("score", "shift"), records.signed),
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
    pairs = {key: pair for key, pair in value.items() if isinstance(pair, list)}
    return {key: pair for key, pair in pairs.items() if tuple(map(type, pair)) in _VOTES}


def _judge(value: object) -> object:
    form = {"path": records.text, "reasons": records.texts, "verdicts": _verdicts}
    return records.checked(value, form) if isinstance(value, dict) else records.WRONG


RECALLS = records.Form(
    "recalls",
    {
        **dict.fromkeys(("place", "outcome", "reason", "problem", "prompt_id", "tool_use_id"), records.text),
        **dict.fromkeys(("prompt", "answered_by"), records.text),
        **dict.fromkeys(("injected", "pointed", "guards", "sessions"), records.texts),
        **dict.fromkeys(("tokens", "listed"), records.count),
        **dict.fromkeys(("inject_threshold", "pointer_threshold", "ms"), records.number_or_null),
        "candidates": _candidates,
        "judge": _judge,
    },
)
FEEDBACK = records.Form("feedback", {"memories": records.texts})


def latest_rows(form: records.Form, context: Context) -> records.Records:
    """Return the rows of the project at the end of a ledger, the oldest first."""
    return records.Records(context.paths.state(), form, project=context.paths.project_key, tail=_TAIL_BYTES)


def injected_in_session(context: Context) -> Injections:
    """Return the records by which memories were injected in this session, by key, at most the last 30, from the end of the ledger.

    If its guard was asked since, the record is that of the guard, but with the place and the call of the injection. Empty if the ledger
    cannot be read.
    """
    injected: Injections = {}
    for row in latest_rows(RECALLS, context):
        if row.get("session") == context.session and row.get("place") not in IGNORED_PLACES:
            fields = {name: as_text(row.get(name)) for name in _FIELDS}
            for key in row.get("guards") or row.get("injected", ()):
                if "guards" in row and key in injected:
                    where = {name: injected[key][name] for name in ("place", "tool_use_id")}
                    injected[key] = {**fields, **where}
                elif key in row.get("injected", ()):
                    injected[key] = fields
    return dict(list(injected.items())[-_MAX_MEMORIES:])


def find_uses(reply: str, transcript: str, prompt_id: str, context: Context) -> list[str]:
    """Return the memories of this session that the last reply used, and those whose guard it followed on this prompt."""
    injected = injected_in_session(context)
    now = {key: row for key, row in injected.items() if prompt_id and row["prompt_id"] == prompt_id}
    followed = [key for key, row in now.items() if row["outcome"] == "reminded"]
    rest = {key: row for key, row in injected.items() if key not in followed}
    return followed + (_repeated_in_reply(rest, reply, transcript, context) if rest else [])


def _repeated_in_reply(injected: Injections, reply: str, transcript: str, context: Context) -> list[str]:
    """Return the memories whose rare words or paths occur in the reply or its tool calls; empty if the index cannot be read."""
    from contextlib import closing

    from ..kernel.text.words import stems
    from ..kernel.transcript.reader import turns_since_prompt

    turns = turns_since_prompt(transcript, _TRANSCRIPT_BYTES) if transcript else []
    prompt_stems = stems("\n".join(turn.prompt for turn in turns)[:_MAX_CHARACTERS])
    # The tool call at which each memory was injected; empty for other places.
    calls = {key: row["tool_use_id"] if row["place"] in _AT_CALL else "" for key, row in injected.items()}
    said = reply[-_MAX_CHARACTERS:] + "\n"
    texts = {call: said + _call_arguments(turns, call) for call in set(calls.values())}
    stems_by_call = {call: stems(text) - prompt_stems for call, text in texts.items()}
    # At its file, a memory's path in the call is no use.
    read = {key: "" if injected[key]["place"] == _TOOL else texts[call] for key, call in calls.items()}
    try:
        with closing(open_index(index_path(context.paths))) as connection:
            held = {key: stems_by_call[call] for key, call in calls.items()}
            return [key for key in calls if _is_used(connection, key, held[key], read[key])]
    except INDEX_ERRORS:
        return []


def _call_arguments(turns: list[Turn], injecting: str) -> str:
    """Return the text arguments of the turns' tool calls, the last first, without the call at which a memory was injected."""
    calls = [call for turn in reversed(turns) for call in turn.calls if call.id != injecting or not injecting]
    values = (value for call in calls for value in call.input.values())
    return "\n".join(value for value in values if isinstance(value, str))[:_MAX_CHARACTERS]


def _is_used(connection: Connection, key: str, stems: set[str], reply: str) -> bool:
    """Return whether `reply` contains a path of a memory, or `stems` its rare words; `reply` is empty if it was injected at its file."""
    select = "SELECT v.title || v.tags || v.body, d.files FROM documents d JOIN vectors v ON v.rowid = d.rowid WHERE d.key = ?"
    row = connection.execute(select, (key,)).fetchone()
    if row is None:
        return False
    paths = value_of(lambda: as_texts(loads(row[1])), "paths")
    if any(len(path) >= _MIN_NAME and path in reply for path in paths):
        return True
    from ..kernel.text.words import is_compound_name, stems_of_forms

    shared = _rare_stems(connection, stems_of_forms(row[0]) & stems)
    names = [stem for stem in shared if is_compound_name(stem) and len(stem) >= _MIN_NAME]
    return bool(names) or len(shared) >= _MIN_RARE_WORDS


def _rare_stems(connection: Connection, stems: set[str]) -> list[str]:
    """Return the stems that few memories of this store and few everyday texts contain."""
    from .query import Corpus

    corpus = Corpus(connection, only_injectable=False)
    max_memories = max(_RARE_MEMORIES, _RARE_MEMORIES_SHARE * corpus.documents)
    known = corpus.frequencies({stem for stem in stems if len(stem) >= _MIN_RARE})
    rare = {stem: strong + weak for stem, (strong, weak, share) in known.items() if share < _RARE_SHARE}
    return [stem for stem, memories in rare.items() if memories <= max_memories]
