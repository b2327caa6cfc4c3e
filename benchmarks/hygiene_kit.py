"""Measure the hygiene rules: precision and recall per kind on a kit, and false positives per 100 kB of transcripts.

    python3 benchmarks/hygiene_kit.py KIT_FOLDER [--transcripts FOLDER] [--aside FILE:LINE ...] [--show]

`--show` lists the misses and false positives with their lines. `--aside` excludes lines, such as a negative for one rule that contains
another rule's secret. Nothing is written.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memory_plugin.kernel.hygiene import findings

SECRET_KINDS = ("secret", "url_credentials")
SECRET_SETS = ("secrets_detect_secrets.jsonl", "secrets_gitleaks.jsonl")
LABELS = {
    "EMAIL_ADDRESS": "email",
    "PHONE_NUMBER": "phone",
    "CREDIT_CARD": "credit_card",
    "IBAN_CODE": "iban",
    "US_SSN": "us_ssn",
    "IP_ADDRESS": "ip_address",
}
RECOGNIZERS = {
    "email": "email",
    "ip": "ip_address",
    "us_ssn": "us_ssn",
    "credit_card": "credit_card",
    "phone": "phone",
}


class Tally(NamedTuple):
    """Counts of one kind."""

    hit: int = 0
    missed: int = 0
    wrong: int = 0

    def plus(self, hit: int, missed: int, wrong: int) -> Tally:
        """Return this tally with more counted."""
        return Tally(self.hit + hit, self.missed + missed, self.wrong + wrong)

    def line(self, name: str) -> str:
        """Return a line of the table."""
        precision = self.hit / (self.hit + self.wrong) if self.hit + self.wrong else 1.0
        recall = self.hit / (self.hit + self.missed) if self.hit + self.missed else 1.0
        return "%-28s precision %.3f  recall %.3f  (hit %d, missed %d, wrong %d)" % (
            name,
            precision,
            recall,
            *self,
        )


def lines(path: str) -> Iterator[dict[str, object]]:
    """Return the records of a JSONL file."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def aside(record: dict[str, object]) -> bool:
    """Return whether a record is excluded, such as public addresses and masked placeholders."""
    text = str(record["text"])
    return (
        record.get("src") == "ip_public" or "xxxxxxxxxx" in text or text in ("'{secret}'", "'{non_secret}'")
    )


def secrets(folder: str, left_out: list[str], show: bool) -> None:
    """Print precision and recall over the two sets of secrets."""
    total = Tally()
    for name in SECRET_SETS:
        tally = Tally()
        for number, record in enumerate(lines(os.path.join(folder, name)), 1):
            if aside(record) or "%s:%d" % (name, number) in left_out:
                continue
            found = [f for f in findings(str(record["text"])) if f.kind in SECRET_KINDS]
            wanted = bool(record["secret"])
            counted = (
                int(wanted and bool(found)),
                int(wanted and not found),
                int(bool(found) and not wanted),
            )
            tally, total = tally.plus(*counted), total.plus(*counted)
            if show and wanted != bool(found):
                verdict = "missed" if wanted else "wrong "
                rules = [f.rule for f in found]
                print("  %s line %d %s %.150r" % (verdict, number, rules, record["text"]))
        print(tally.line(name))
    print(total.line("secrets together"))


def strengths(folder: str) -> None:
    """Print recall over CredSweeper's secrets by the strength of its rules; the set has no negatives."""
    path = os.path.join(folder, "secrets_credsweeper.jsonl")
    tallies: dict[str, Tally] = {}
    for record in lines(path) if os.path.exists(path) else ():
        found = any(f.kind in SECRET_KINDS for f in findings(str(record["text"])))
        name = str(record["strength"])
        tallies[name] = tallies.get(name, Tally()).plus(int(found), int(not found), 0)
    for name, tally in sorted(tallies.items()):
        print("%-28s recall %.3f (%d of %d)" % (name, tally.hit / sum(tally), tally.hit, sum(tally)))


def overlaps(start: int, end: int, spans: list[tuple[int, int]]) -> bool:
    """Return whether a span shares a character with one of the spans."""
    return any(start < other_end and other_start < end for other_start, other_end in spans)


def luhn(digits: str) -> bool:
    """Return whether the check digit is right; a second implementation, so that the rules do not check themselves."""
    doubled = (int(d) * (1 + at % 2) for at, d in enumerate(reversed(digits)))
    return sum(d // 10 + d % 10 for d in doubled) % 10 == 0


def spans(folder: str, show: bool) -> None:
    """Print precision and recall per kind on the texts with labeled spans."""
    tallies = {kind: Tally() for kind in LABELS.values()}
    for record in lines(os.path.join(folder, "pii_spans.jsonl")):
        text = str(record["full_text"])
        labeled: dict[str, list[tuple[int, int]]] = {kind: [] for kind in tallies}
        for span in record["spans"]:  # type: ignore[attr-defined]
            kind = LABELS.get(span["entity_type"])
            if kind is None or (
                kind == "credit_card" and not luhn("".join(filter(str.isdigit, span["entity_value"])))
            ):
                continue
            labeled[kind].append((span["start_position"], span["end_position"]))
        found = findings(text)
        for kind, tally in tallies.items():
            mine = [(f.start, f.end) for f in found if f.kind == kind]
            missed = [s for s in labeled[kind] if not overlaps(*s, mine)]
            wrong = [s for s in mine if not overlaps(*s, labeled[kind])]
            tallies[kind] = tally.plus(len(labeled[kind]) - len(missed), len(missed), len(wrong))
            if show:
                for start, end in missed:
                    print(
                        "  missed %s %r in %.80r"
                        % (kind, text[start:end], text[max(0, start - 40) : end + 20])
                    )
                for start, end in wrong:
                    print(
                        "  wrong  %s %r in %.80r"
                        % (kind, text[start:end], text[max(0, start - 40) : end + 20])
                    )
    for kind, tally in tallies.items():
        print(tally.line(kind))


def recognizers(folder: str, show: bool) -> None:
    """Print how many of the recognizer cases give the expected number of findings."""
    right, total = Counter[str](), Counter[str]()
    for record in lines(os.path.join(folder, "pii_recognizer_cases.jsonl")):
        kind = RECOGNIZERS.get(str(record["recognizer"]))
        if kind is None:
            continue
        found = [f for f in findings(str(record["text"])) if f.kind == kind]
        total[kind] += 1
        right[kind] += len(found) == record["expected"]
        if show and len(found) != record["expected"]:
            print("  %s expected %s, found %s in %r" % (kind, record["expected"], len(found), record["text"]))
    for kind in total:
        print("%-28s %d of %d recognizer cases as expected" % (kind, right[kind], total[kind]))


def transcripts(folder: str, show: bool) -> None:
    """Print findings per 100 kB and the speed; every finding counts as false, because the kit is masked."""
    size = 0
    seconds = 0.0
    counts = Counter[str]()
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            text = file.read()
        size += len(text.encode("utf-8", "replace"))
        start = time.process_time()
        found = findings(text)
        seconds += time.process_time() - start
        counts.update(f.kind for f in found)
        if show:
            for f in found:
                shown = text[max(0, f.start - 50) : f.end + 20][:200]
                print("  %-16s %-24s %.60r in %r" % (f.kind, f.rule, text[f.start : f.end], shown))
    for kind, count in counts.most_common():
        print("%-28s %d findings, %.3f per 100 kB" % (kind, count, count * 1e5 / max(1, size)))
    print(
        "%-28s %.1f MB in %.2f s: %.1f MB/s" % ("speed", size / 1e6, seconds, size / 1e6 / max(seconds, 1e-9))
    )


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kit")
    parser.add_argument("--transcripts")
    parser.add_argument("--aside", nargs="*", default=[], metavar="FILE:LINE")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    secrets(options.kit, options.aside, options.show)
    strengths(options.kit)
    spans(options.kit, options.show)
    recognizers(options.kit, options.show)
    if options.transcripts:
        transcripts(options.transcripts, options.show)
    return 0


if __name__ == "__main__":
    sys.exit(main())
