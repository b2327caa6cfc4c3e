"""Hand one reply from the Stop hook to `memory grade`, which asks a judge after the hook has returned."""

from __future__ import annotations

from ..kernel.fastjson import dumps, loads
from .reply_state import ReplyState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.context import Context
    from .pipeline import ScoredReply

ELLIPSIS = "\n[...]\n"  # between head and tail of a long reply
_MAX_CHARACTERS = 40_000
_MIN_CHARACTERS = 1000
_MAX_MATCHES = 20
_FIELDS: dict[str, tuple[type, ...]] = {
    "id": (str,), "session": (str,), "prompt_id": (str,), "transcript": (str,), "query_type": (str,), "threshold": (int,),
    "padding": (int,), "density": (float, int, type(None)), "why": (str,), "turn": (int,), "drift": (list,), "severity": (str,),
    "matches": (list,), "head": (str,), "tail": (str,), "tail_at": (int,),
}  # fmt: skip


def may_request_grade(context: Context, *, judges_off: bool) -> bool:
    """Return whether a judge may be asked about replies here.

    This requires hybrid mode and no earlier refusal in this session. `judges_off` says that the project's environment may have set an
    endpoint or a key.
    """
    settings = context.settings
    if not settings.is_judge_enabled("scoring") or judges_off:
        return False
    return not ReplyState(context.paths, context.session).is_judge_disabled()


class GradeRequest:
    """The Stop hook's data about a reply that a judge should see.

    `why` is `escalated` or `audit`, `turn` is the reply's number in its session, and `threshold` is in thousandths. `matches` are
    [start, end, rule] in the original text. `head` is the beginning of that text, `tail` the rest from `tail_at` on.
    """

    __slots__ = tuple(_FIELDS)

    id: str
    session: str
    prompt_id: str
    transcript: str
    query_type: str
    threshold: int
    padding: int
    density: float | None
    why: str
    turn: int
    drift: list[str]
    severity: str
    matches: list[list[Any]]
    head: str
    tail: str
    tail_at: int

    def __init__(self, fields: dict[str, Any]) -> None:
        """Take every field by name. Raises ValueError for one that is missing or of another type."""
        for name, types in _FIELDS.items():
            value = fields.get(name, ...)
            if not isinstance(value, types):
                raise ValueError("grade request: %s: missing or of the wrong type" % name)  # noqa: TRY004 (outside data)
            setattr(self, name, value)
        if not all(isinstance(name, str) for name in self.drift) or not all(map(_is_match, self.matches)):
            raise ValueError("grade request: drift or matches: an entry has the wrong form")

    @classmethod
    def from_scored(cls, scored: ScoredReply, session: str, max_characters: int) -> GradeRequest:
        """Return the request for a scored reply with at most `max_characters` of its text, from both ends."""
        score, text = scored.score, scored.reply.text
        fits = len(text) <= max_characters
        head = text if fits else text[: max_characters // 2]
        tail_at = len(text) if fits else len(text) - max_characters // 2
        included = [
            match for match in scored.record["matches"] if match[1] <= len(head) or match[0] >= tail_at
        ]
        return cls(
            {
                "id": scored.id,
                "session": session,
                "prompt_id": scored.reply.prompt_id,
                "transcript": scored.reply.transcript,
                "query_type": score.query_type,
                "threshold": score.threshold,
                "padding": score.signals.padding,
                "density": score.signals.density,
                "why": "audit" if scored.record["audit"] else "escalated",
                "turn": scored.record.get("turn", 0),
                "drift": score.drift.categories if score.drift else [],
                "severity": score.drift.severity if score.drift else "",
                "matches": included[:_MAX_MATCHES],
                "head": head,
                "tail": text[tail_at:],
                "tail_at": tail_at,
            }
        )

    @classmethod
    def from_json(cls, data: bytes) -> GradeRequest:
        """Parse what `to_json` wrote. Raises ValueError for anything else."""
        fields = loads(data.decode("ascii"))
        if not isinstance(fields, dict):
            raise ValueError("grade request: expected an object")  # noqa: TRY004 (outside data)
        return cls(fields)

    def to_json(self) -> bytes:
        """Return the request as JSON for `from_json`."""
        return dumps({name: getattr(self, name) for name in _FIELDS}).encode("ascii")

    def shown_text(self) -> str:
        """Return the reply as a judge sees it: the head, and the tail if the middle was cut."""
        return self.head + (ELLIPSIS + self.tail if self.tail else "")

    def phrase(self, start: int, end: int) -> str:
        """Return the text of a match."""
        if end <= len(self.head):
            return self.head[start:end]
        return self.tail[max(0, start - self.tail_at) : max(0, end - self.tail_at)]

    def original_span(self, start: int, end: int) -> list[int]:
        """Return a span of `shown_text` as a span of the original reply."""
        shift = 0 if end <= len(self.head) else self.tail_at - len(self.head) - len(ELLIPSIS)
        return [start + shift, end + shift]


def encode_request(scored: ScoredReply, session: str, limit: int) -> bytes:
    """Return the request for a scored reply as JSON of at most `limit` bytes, with as much of the text as fits."""
    max_characters = _MAX_CHARACTERS
    data = GradeRequest.from_scored(scored, session, max_characters).to_json()
    while len(data) > limit and max_characters > _MIN_CHARACTERS:  # a character may take twelve bytes as JSON
        max_characters //= 2
        data = GradeRequest.from_scored(scored, session, max_characters).to_json()
    return data


def _is_match(match: object) -> bool:
    return isinstance(match, list) and [type(part) for part in match] == [int, int, str]
