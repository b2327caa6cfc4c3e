"""A month of use as the report reads it: a project's memories, ledgers and transcripts."""

from __future__ import annotations

import json
import os
import random
import time

from tests.project import Project

__all__ = ["HOSTILE", "write_month"]

DAY = 86400
# Text that a repository or a model may have put into a ledger. The report must neither run it nor let it hide other text.
HOSTILE = "</title><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">\u202egnp.exe\x1b[31m"
MEMORIES = (
    (
        "decision",
        "Billing runs on Postgres 16",
        "For its row locks; MySQL lost updates under load.",
        ("--file", "src/billing/db.py"),
    ),
    (
        "constraint",
        "Staging is reset every night at 03:00",
        "Nothing on staging outlives 03:00. Put test data into seeds/.",
        (),
    ),
    (
        "runbook",
        "Roll back a release",
        "Run deploy --to PREVIOUS; then check the queue.",
        ("--file", "deploy/rollback.sh"),
    ),
    ("decision", "Deploy from the release branch only", "Never from main.", ()),
    ("preference", "Answers in one paragraph", "Unless code is asked for.", ("--scope", "user")),
    (
        "constraint",
        "No deployment from Friday noon to Monday morning",
        "A hotfix needs the on-call engineer.",
        (),
    ),
    ("decision", "PDF exports use WeasyPrint", "wkhtmltopdf breaks right-to-left text.", ()),
)
PROMPTS = (
    "can I ship the export on the 29th?",
    "which region are the backups in?",
    "why does the invoice PDF have the wrong font?",
    "how do we name feature flags?",
    "what is the retention of audit logs?",
)
RULES = ("exclamation", "praise-opening", "offer-more", "affirmation-first", "presentation")


def write_month(project: Project, days: int = 30, seed: int = 3) -> list[str]:
    """Save the memories, write the ledgers and transcripts, and return the keys of the memories."""
    keys = []
    for category, title, body, more in MEMORIES:
        identity = project.save(title, body, *more, category=category)
        keys.append("%s:%s/%s" % ("user" if "user" in more else "project", category, identity))
    mine = project_key(project)
    chance = random.Random(seed)
    rows: dict[str, list[dict[str, object]]] = {}
    start = time.time() - days * DAY
    for day in range(days):
        for number in range(chance.randint(4, 24)):
            _add_prompt(
                rows,
                keys,
                chance,
                start + day * DAY + number * 600,
                "%04d" % (day * 100 + number),
                project,
                mine,
            )
        if day % 4 == 0:
            _add_session(rows, chance, start + day * DAY, day)
    for name, found in rows.items():
        _append(os.path.join(project.state, name + ".jsonl"), found)
    _hostile_rows(project)
    return keys


def project_key(project: Project) -> str:
    """Return the key that ledgers give to the project."""
    project.prompt("/status")
    return str(project.ledger("recalls")[-1]["project"])


def _add_prompt(
    rows: dict[str, list[dict[str, object]]],
    keys: list[str],
    chance: random.Random,
    when: float,
    name: str,
    project: Project,
    mine: str,
) -> None:
    session = "5e550000-0000-4000-8000-00000000" + name[:2] + "00"
    head = _head(when, session, mine)
    draw = chance.random()
    key = keys[min(int(chance.expovariate(0.7)), len(keys) - 3)]
    injected, pointed, reason, outcome = [], [], "", "silent"
    if draw < 0.16:
        injected, outcome = [key], "injected"
    elif draw < 0.26:
        pointed, outcome = [key], "pointed"
    elif draw < 0.6:
        reason = chance.choice(["no_match", "below_threshold", "below_threshold", "already_injected"])
    else:
        reason, outcome = chance.choice(["confirmation", "command", "short", "confirmation"]), "skipped"
    near = [{"key": keys[-1], "confidence": 0.31, "pointer_confidence": 0.3, "score": 4.2}]
    rows.setdefault("recalls", []).append(
        {
            **head,
            "place": "prompt",
            "outcome": outcome,
            "reason": reason,
            "answered_by": "fts5",
            "candidates": near if reason == "below_threshold" else [],
            "injected": injected,
            "pointed": pointed,
            **({"tokens": 118, "characters": 470} if injected else {}),
            "found": 3,
            "inject_threshold": 0.5,
            "pointer_threshold": 0.35,
            "problem": "",
            "prompt_id": "p" + name,
            "ms": round(chance.uniform(6, 44), 1),
        }
    )
    if reason in ("no_match", "below_threshold"):
        _transcript(project, session, "p" + name, chance.choice(PROMPTS), when)
    if injected and chance.random() < 0.6:
        rows.setdefault("feedback", []).append(
            {**head, "kind": "used", "memories": injected, "prompt_id": "p" + name}
        )
    padding = int(chance.random() < 0.5 - 0.3 * float(name) / 3000)
    rows.setdefault("scores", []).append(
        {
            **head,
            "kind": "score",
            "id": "r" + name,
            "padding_count": 3 * padding,
            "matches": [[0, 9, chance.choice(RULES)]] * padding,
            "preamble_words": 2,
            "words": 90,
            "density": 0.55,
            "query_type": "directive",
            "threshold": 0.52,
            "gate": "padding_range",
            "escalate": False,
            "audit": False,
            "mode": "rules",
            "drift": ["padding"] * padding,
            "prompt_id": "p" + name,
            "model": "claude-opus-5-5",
            "transcript": "",
            "record": "",
            "turn": 1,
        }
    )
    if padding:
        arm = "control" if chance.random() < 0.3 else "corrected"
        drift = {**head, "kind": "drift", "id": "r" + name, "arm": arm, "categories": ["padding"]}
        rows.setdefault("drift", []).extend([drift, {**head, "kind": "said", "id": "r" + name}])
    if chance.random() < 0.3:
        rows.setdefault("judge-calls", []).append(
            {
                **head,
                "feature": chance.choice(["retrieval", "scoring"]),
                "question": "relevance",
                "model": "small",
                "outcome": "ok",
                "cached": False,
                "latency_ms": 412.0,
                "tokens_in": 850,
                "tokens_out": 14,
                "cost_usd": 0.00012,
            }
        )


def _add_session(
    rows: dict[str, list[dict[str, object]]], chance: random.Random, when: float, day: int
) -> None:
    categorical = ("goal_achievement", "error_handling")
    names = (
        "goal_achievement",
        "tool_efficiency",
        "process_adherence",
        "context_efficiency",
        "error_handling",
        "output_quality",
    )
    scores = {
        name: {"score": 2 if name in categorical else round(chance.uniform(0.5, 1), 2)} for name in names
    }
    row = {
        **_head(when, "graded-%04d" % day, "shop-1"),
        "kind": "score",
        "dimensions": scores,
        "overall_quality": 0.78,
    }
    rows.setdefault("sessions", []).append({**row, "signals": {"retries": 2, "tests_run": 1}})


def _hostile_rows(project: Project) -> None:
    """Append forged, damaged and truncated lines."""
    now = time.time() - 60
    head = _head(now, HOSTILE, HOSTILE)
    _append(
        os.path.join(project.state, "recalls.jsonl"),
        [
            {
                **head,
                "place": "prompt",
                "outcome": "injected",
                "reason": "",
                "injected": ["project:decision/" + HOSTILE],
                "pointed": [HOSTILE],
                "ms": 1e308,
                "tokens": -5,
            },
            {
                **head,
                "place": "prompt",
                "outcome": "silent",
                "reason": HOSTILE,
                "candidates": [{"key": HOSTILE, "confidence": 7}],
                "injected": {},
                "prompt": HOSTILE,
            },
            {
                **head,
                "place": "prompt",
                "outcome": ["silent"],
                "reason": 5,
                "injected": "x",
                "prompt_id": {},
                "ms": "long",
            },
            {
                **head,
                "place": "prompt",
                "outcome": "silent",
                "reason": "no_match",
                "injected": [],
                "prompt": HOSTILE,
                "prompt_id": "h1",
            },
        ],
    )
    _append(
        os.path.join(project.state, "scores.jsonl"),
        [
            {
                **head,
                "kind": "score",
                "id": "h",
                "padding_count": 1,
                "matches": [[0, 1, HOSTILE]],
                "density": 9,
                "threshold": 0.5,
                "drift": HOSTILE,
                "model": HOSTILE,
            }
        ],
    )
    _append(
        os.path.join(project.state, "judge-calls.jsonl"),
        [{**head, "feature": HOSTILE, "outcome": HOSTILE, "cost_usd": 1e300}],
    )
    _append(
        os.path.join(project.state, "events.jsonl"),
        [{**head, "event": HOSTILE, "kind": "error", "what": HOSTILE}],
    )
    _append(
        os.path.join(project.state, "sessions.jsonl"),
        [{**head, "kind": "score", "dimensions": {HOSTILE: {"score": 1}}, "signals": {HOSTILE: 3}}],
    )
    with open(os.path.join(project.state, "recalls.jsonl"), "ab") as file:
        file.write(b'\xff\xfe not JSON\n[]\n{"schema":1,"time":"2026-' + b"[" * 5000 + b"\n")


def _head(when: float, session: str, project: str) -> dict[str, object]:
    text = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))
    return {"schema": 1, "time": text, "session": session, "project": project, "version": "0.1.0"}


def _append(path: str, rows: list[dict[str, object]]) -> None:
    with open(path, "a", encoding="ascii") as file:
        file.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)


def _transcript(project: Project, session: str, prompt_id: str, text: str, when: float) -> None:
    folder = os.path.join(project.config, "projects", "-shop")
    os.makedirs(folder, exist_ok=True)
    time_text = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(when))
    row = {
        "type": "user",
        "promptId": prompt_id,
        "isSidechain": False,
        "uuid": prompt_id,
        "timestamp": time_text,
        "message": {"role": "user", "content": text},
    }
    with open(os.path.join(folder, session + ".jsonl"), "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
