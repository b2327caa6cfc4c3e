"""Texts that are made to keep patterns busy take time in proportion to their length."""

from __future__ import annotations

import time

import pytest

from memory_plugin.kernel.hygiene import findings
from tests.rows import every

SIZE = 60_000
SECONDS = 3.0  # for twice that much; the slowest takes 0.5 s where this was written
PIECES = {
    "letters": "a",
    "digits": "1",
    "digits apart": "1 ",
    "numbers with hyphens": "12-34-56-78 ",
    "four digits": "4111-",
    "dotted": "a.",
    "at signs": "a@",
    "mail without end": "a@a.",
    "names": "key",
    "names and signs": "key=",
    "open quotes": "token='",
    "header without end": "Authorization: ",
    "flags": "--token ",
    "curl": "curl -u a:",
    "url": "://a:",
    "key blocks": "-----BEGIN RSA %s KEY-----" % "PRIVATE",
    "key blocks with content": "-----BEGIN %s KEY-----\nAAAA" % "PRIVATE",
    "half tokens": "eyJ",
    "whole headers": "eyJhbGciOiJIUzI1NiJ9.",
    "cluster secrets": "kind: Secret\n",
    "cluster data": "data:\n  a: bcdefg",
    "cookies": "Cookie: a=b; ",
    "colons": "::1",
    "home folders": "/home/a",
    "markers": "[redacted:x]",
    "half markers": "[redacted:",
    "phone words": "call 12 ",
    "accounts": "GB82 WEST ",
    "here-strings": "sudo a -S <<< ",
    "mails as code": "a@b.c` / `",
    "backslashes": 'key\\\\\\\\"',
    "spaces": " ",
    "zero": "\0",
    "no-break spaces": "\u00a0",
    "percent signs": "%25",
    "entities": "&amp;",
    "open escapes": "\\u00",
    "joined strings": "a'+'b",
    "quotes and lines": "a'\n",
    "look-alikes": "k\u0435y=",
    "broken words": "a1b2c3d4\n",
    "base64": "cGFzc3dvcmQ9YWJjZGVm ",
    "passwords in sentences": "password a ",
    "given passwords": "the password is b2 ",
    "passwords of words": "password: Aa-aa-",
    "passwords after foreign words": "password \u0430 ",
    "users with passwords": "user a, pass b2 ",
    "pins": "card pin a ",
    "logins": "login is a / ",
    "keys in sentences": "token a was ",
    "lists of keys": "api_keys=abcdefgh,",
    "variables with a default": 'variable "a_key" { default ',
    "quoted passwords": "-password 'a ",
    "passwords of keystores": "keytool -storepass ",
    "settings of a server": "user=a\npass=",
    "lines of settings": "a=b\n",
    "literals": "--from-literal=pass",
    "shared folders": "net use z: \\\\a\\b c ",
    "senders of mail": 'plainauth("a", "b", ',
    "passwords before their name": "aB1!aB1! is the ",
    "digits in base64": "MTExMTEx",
    "escaped marks": "a\\_",
    "table rows": "| token | a |\n",
    "byte lists": "key={0x1,",
    "names in lines": "key:\n ",
    "nested names": "key:[{",
    "statements": "create role a password ",
    "defines": "define key ",
    "private keys without head": "MIIEvgIBADAN",
}


@pytest.mark.parametrize("piece", every(20, (pytest.param(piece, id=name) for name, piece in PIECES.items())))
def test_time_grows_no_faster_than_the_text(piece: str) -> None:
    once = min(_seconds(piece * (SIZE // len(piece))) for _ in range(2))
    twice = _seconds(piece * (2 * SIZE // len(piece)))
    if not _is_soon(once, twice):  # a machine with other work on it may disturb a round
        twice = min(twice, _seconds(piece * (2 * SIZE // len(piece))))
    assert _is_soon(once, twice)


def _is_soon(once: float, twice: float) -> bool:
    return twice < SECONDS and twice < 3.2 * once + 0.15


def _seconds(text: str) -> float:
    start = time.process_time()
    findings(text)
    return time.process_time() - start
