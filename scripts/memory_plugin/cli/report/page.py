"""The report as one self-contained HTML file: no script, no request, light and dark, printable."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from ...kernel.paths import data_path
from .charts import day_label, safe
from .elements import count, milliseconds, money, percent, tile, tiles, times
from .page_quality import health_section, replies_section, sessions_section, spend_section
from .page_recall import memories_section, missed_section, recall_section

if TYPE_CHECKING:
    from .figures import Report

_TITLE = "Memory report"
_NAV = (
    ("told", "Told"),
    ("memories", "Memories"),
    ("missed", "Found nothing"),
    ("replies", "Replies"),
    ("sessions", "Sessions"),
    ("spend", "Spending"),
    ("health", "Health"),
)


MARK = b"<!-- memory report -->"  # tells our own files from others


def page(report: Report) -> str:
    """Return the HTML document; its policy admits no script and only its own style sheet."""
    with open(data_path("report", "report.css"), encoding="utf-8") as file:
        style = file.read()
    hashed = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    policy = "default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'" % hashed
    sections = (
        recall_section(report),
        memories_section(report),
        missed_section(report),
        replies_section(report),
        sessions_section(report),
        spend_section(report),
        health_section(report),
    )
    return (
        '<!DOCTYPE html>\n%s\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="%s">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        '<title>%s</title><style>%s</style></head>\n<body><div class="sheet">%s<main>%s</main>%s</div></body></html>\n'
    ) % (MARK.decode("ascii"), policy, _TITLE, style, _top(report), "\n".join(sections), _bottom(report))


def _top(report: Report) -> str:
    links = "".join('<a href="#%s">%s</a>' % pair for pair in _NAV)
    return (
        '<header class="top"><h1>%s</h1><span class="when">%s, %s to %s</span></header><p class="lead">%s</p>'
        '<nav aria-label="Sections">%s</nav>%s'
    ) % (
        _TITLE,
        safe(report.scope[:1].upper() + report.scope[1:]),
        safe(day_label(report.since)),
        safe(day_label(report.until)),
        safe(lead(report)),
        links,
        _tiles(report),
    )


def lead(report: Report) -> str:
    """Return a summary of the report in two or three sentences."""
    recalls = report.ledgers.recalls
    if not recalls.prompts:
        return "Nothing was recorded in this period."
    text = "Claude got at least one full memory on %s of %s %s, and only pointers on %s." % (
        count(recalls.total("injected")),
        count(recalls.prompts),
        "prompt" if recalls.prompts == 1 else "prompts",
        count(recalls.total("pointed")),
    )
    used = sum(use.used for use in recalls.memories.values())
    if used:
        text += " Replies used one at least %s." % times(used)
    unused, stored = report.memories.unused_number, report.memories.stored
    if unused:
        text += " Never recalled: %s of %s memories in this project." % (count(unused), count(stored))
    return text


def _tiles(report: Report) -> str:
    recalls = report.ledgers.recalls
    median = recalls.wait.quantile(0.5)
    sessions = count(recalls.sessions.estimate())
    return tiles(
        tile(count(recalls.prompts), "prompts"),
        tile(percent(recalls.total("injected"), recalls.prompts), "told in full", "told"),
        tile(percent(recalls.total("pointed"), recalls.prompts), "pointed to", "pointed"),
        tile(sessions if recalls.sessions.is_exact else "about " + sessions, "sessions"),
        tile(milliseconds(median), "median hook time"),
        tile(money(report.ledgers.spend.usd), "spent on judges"),
    )


def _bottom(report: Report) -> str:
    return (
        "<footer><p>Made by memory %s on this machine. Nothing was sent anywhere."
        " This file may contain your prompts, so only your account can read it.</p></footer>"
    ) % safe(report.version)
