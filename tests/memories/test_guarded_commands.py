"""Guarded commands: the table of command lines, the examples of the prefixes, and properties of any text."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory_plugin.kernel.paths import load_data
from memory_plugin.memories.guard_file import GuardFile, GuardInForce
from memory_plugin.memories.guarded_commands import guard_words, run_by
from memory_plugin.memories.shell_commands import MAX_CHARACTERS, shell_commands
from tests.rows import every

FORCE = ["git", "push", "--force"]


def rows() -> list[dict[str, Any]]:
    """Return the table, written before the matcher; the half `held out` was not used during its development."""
    with open(os.path.join(os.path.dirname(__file__), "guard_commands.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


TABLE = rows()


def test_the_command_lines_of_the_table() -> None:
    assert [
        (row["id"], row["why"])
        for row in TABLE
        if bool(run_by(row["command"], [guard_words(row["guard"])])) != row["match"]
    ] == []


def test_the_table_has_enough_of_both() -> None:
    assert len(TABLE) >= 100
    assert len({row["id"] for row in TABLE}) == len(TABLE)
    for half in ("development", "held out"):
        kinds = [row["match"] for row in TABLE if row["half"] == half]
        assert min(kinds.count(True), kinds.count(False)) >= 30


def test_the_quick_look_never_misses() -> None:
    prepared, missed = GuardFile.__new__(GuardFile), []
    for row in [row for row in TABLE if row["match"]]:
        commands = [guard_words(row["guard"])]
        guard = {"key": "k", "action": "ask", "until": "", "commands": commands, "files": []}
        prepared.guards = [GuardInForce(guard)]
        if not prepared.may_cover({"command": row["command"]}):
            missed.append(row["id"])
    assert missed == []


PREFIXES = load_data("memories", "command_prefixes")["prefixes"]


def test_the_examples_of_the_prefixes() -> None:
    examples = [
        (command, kind == "hit")
        for prefix in PREFIXES
        for kind in ("hit", "miss")
        for command in prefix[kind]
    ]
    assert [command for command, runs in examples if bool(run_by(command, [["git", "push"]])) != runs] == []


def test_each_prefix_has_a_reason_and_examples_of_both() -> None:
    assert len({prefix["id"] for prefix in PREFIXES}) == len(PREFIXES)
    assert [p["id"] for p in PREFIXES if not (p["reason"] and p["hit"] and p["miss"])] == []


def test_all_guards_that_match_are_found() -> None:
    guards = [FORCE, ["git", "push"], ["terraform", "apply"], ["rm"]]
    assert run_by("git push --force && sudo terraform apply", guards) == {0, 1, 2}


def test_an_option_is_anywhere_also_directly_after_the_program() -> None:
    assert run_by("pytest tests/pay --lf", [["pytest", "--lf"]])
    assert run_by("git push origin -f", [["git", "-f"]])
    assert not run_by("git push origin main", [["git", "-f"]])
    assert not run_by("pytest-watch --lf", [["pytest", "--lf"]])


def test_a_text_of_several_words_may_be_a_part() -> None:
    guard = guard_words("psql -c 'DROP TABLE'")
    hits = [
        "psql -c 'DROP TABLE orders'",
        "psql -d shop -c 'BEGIN; DROP TABLE a'",
        "psql --quiet -c 'DROP TABLE'",
    ]
    assert [text for text in hits if not run_by(text, [guard])] == []
    assert not run_by("psql -c 'SELECT 1' -f 'DROP TABLE.sql'", [guard])


@pytest.mark.parametrize(
    ("written", "covered", "other"),
    [
        (
            "git * main",
            ["git push origin main", "git merge main", "git -C app checkout main"],
            "git push origin dev",
        ),
        (
            "kubectl * delete *",
            ["kubectl -n prod delete pod x", "kubectl delete --all"],
            "kubectl -n prod get pod",
        ),
        (
            "git commit * --no-verify",
            ["git commit -m x --no-verify", "git commit --no-verify"],
            "git commit -m x",
        ),
        ("docker compose * down *", ["docker compose -f a.yml down -v"], "docker compose -f down.yml up"),
        ("npm run *", ["npm run build", "npm --prefix web run build"], "npm ci"),
        ("sudo *", ["sudo rm x"], "echo sudo"),
    ],
)
def test_a_star_of_its_own_stands_for_any_words(written: str, covered: list[str], other: str) -> None:
    words = [guard_words(written)]
    assert [text for text in covered if not run_by(text, words)] == []
    assert not run_by(other, words)


def test_the_words_of_a_guard() -> None:
    cases = [
        ("git push --force", FORCE),
        ("  /usr/bin/git  push '--force'", FORCE),
        ("psql -c 'DROP TABLE'", ["psql", "-c", "*DROP TABLE*"]),
        ("sudo reboot", ["sudo", "reboot"]),
        ("", []),
        ("# comment", []),
        ("a && b", []),
        ("a | b", []),
        ("a > b", []),
        ("a <<E", []),
        ("$(a) b", []),
        ("a `b`", []),
        ("(a)", []),
        ("a\nb", []),
        ("dir/", []),
    ]
    assert [(pattern, words) for pattern, words in cases if guard_words(pattern) != words] == []


def test_the_commands_of_a_text() -> None:
    cases = [
        ("a 1>b c", [["a", "c"]]),  # a descriptor
        ("a b=c d", [["a", "b=c", "d"]]),  # an assignment after the command is an argument
        ("x[1]=2 a", [["a"]]),  # an assignment to an element
        ("x+=2 a", [["a"]]),  # an assignment that appends
        ("a ''", [["a", ""]]),  # an empty argument
        ("if a; then b; else c; fi", [["a"], ["b"], ["c"]]),  # if
        (
            "case x in (a) b;; c|d) e;& *) f;;& esac; g",
            [["case", "x", "in"], ["b"], ["e"], ["f"], ["g"]],
        ),  # case
        ("case x in a) b;; esac; c) d", [["case", "x", "in"], ["b"], ["c"], ["d"]]),  # case ends
        (
            "case x in\n a | 'b c')\n case y in c|\"d $e\") d;; esac ;;\n ?e\\ f*) e;;\n f) f\nesac\ng",
            [["case", "x", "in"], ["case", "y", "in"], ["d"], ["e"], ["f"], ["g"]],
        ),  # case in a case
        (
            "a $(case x in b) c;; esac) d",
            [["case", "x", "in"], ["c"], ["a", "$()", "d"]],
        ),  # case in a substitution
        ("echo case x in a) b", [["echo", "case", "x", "in", "a"], ["b"]]),  # the word case
        ("[[ a && (b || c) ]] && d", [["[[", "a"], ["b"], ["c"], ["d"]]),  # a test
        ("((a = b << 2)); c", [["a", "=", "b"], ["c"]]),  # arithmetic with a shift
        ("((a); b)", [["a"], ["b"]]),  # two groups
        ("a $((1 << 2)) <<E\nb\nE\nc", [["a", "$()"], ["c"]]),  # a shift is no heredoc
        ("a $'x\\ty\\x41\\101\\u00e9'", [["a", "x\tyAA\u00e9"]]),  # ansi escapes
        ("a $'\\U0001F600\\U62c'", [["a", "\U0001f600\u062c"]]),  # long ansi escapes
        ("a $'\\562m'", [["a", "rm"]]),  # an octal escape of more than a byte
        ("a $'\\UFFFFFFFF'", [["a", "\U0010ffff"]]),  # an ansi escape beyond Unicode
        ('a "b\\c\\"\\\nd"', [["a", 'b\\c"d']]),  # escapes in double quotes
        ("a ${b:-'}'} c", [["a", "${b:-}}", "c"]]),  # a bracket in quotes in an expansion
        ("a ${b:- #}; c", [["a", "${b:- #}"], ["c"]]),  # no comment in an expansion
        (
            "a ${b:-${c} $d #;} ${b:-$(c; d)} e",
            [["c"], ["d"], ["a", "${b:-${c} $d #;}", "${b:-$()}", "e"]],
        ),  # nested expansions
        ('a "${b:-it\'s}"; c', [["a", "${b:-it's}"], ["c"]]),  # an apostrophe in a quoted expansion
        ("a ${b:-it\\'s}; c", [["a", "${b:-it's}"], ["c"]]),  # an apostrophe in an expansion
        ("a <<E\n${b:-it's} $(c)\nE\nd", [["a"], ["c"], ["d"]]),  # an expansion in a heredoc
        ("a ${ b; }; c", [["b"], ["a", "$()"], ["c"]]),  # the output of a list
        ("a `b \\`c\\``", [["c"], ["b", "$()"], ["a", "$()"]]),  # nested backticks
        ("a <(b) >(c)", [["b"], ["c"], ["a", "$()", "$()"]]),  # process substitutions
        ("function f { a; }", [["a"]]),  # function
        ("x=(a b #c)\n d $(e)) f", [["e"], ["f"]]),  # an array
    ]
    assert [
        (text, words) for text, words in cases if [command.words for command in shell_commands(text)] != words
    ] == []


def test_a_command_that_a_shell_runs_is_not_hidden() -> None:
    cases = [
        "'case' x in\n(rm y)",  # a command named case
        "a=b case x in\n(rm y)",  # case after an assignment
        ">a case x in\n(rm y)",  # case after a redirection
        "case x 'in'\n(rm y)",  # a quoted in
        '(echo ${x:-"a";;b} | rm y)',  # the end of a clause in an expansion
        'case x in a) (echo ${x:-"a";;b} | rm y);; esac',  # the same inside of a case
        "case x in a) b;; esac; (c;; rm y)",  # the end of a clause after the case
        "echo ${x:-'a' #}; rm y",  # a number sign after quotes in an expansion
        "echo ${x:-$(a)b\n#}; rm y",  # a number sign after a substitution in an expansion
        "echo ${x:-<(rm y)}",  # a process substitution in an expansion
        "echo $${x; rm y; echo }",  # a bracket after the number of the process
        "x=${ rm y; }",  # the output of a list in an assignment
    ]
    assert [
        text for text in cases if ["rm", "y"] not in [command.words for command in shell_commands(text)]
    ] == []


PIECES = st.sampled_from(
    ["git", " ", "push", "--force", "'", '"', "\\", "$(", ")", "`", "${", "}", "<<E\n", "\nE\n", "((", "))", "|", "&&",
     ";", ";;", "case x in", "esac", "[[", "]]", "#", "\n", "<", ">", "<(", "$'", "=", "=(", "bash -c ", "eval ", "sudo ",
     "find -exec ", "2>&1", "é", "\0", "\ud800"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(PIECES, max_size=60).map("".join)))
@example("$(" * 500)
@example("`" * 501)
@example("(" * 3000 + ")" * 3000)
@example("${" * 500)
@example("<(" * 500)
@example("bash -c " * 100)
def test_any_text_is_read(text: str) -> None:
    assert run_by(text, [FORCE]) <= {0}
    guard_words(text)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_a_command_is_found_whatever_complete_lines_come_before(text: str) -> None:
    """Lines before and after a command do not hide it, unless they open a quote, a group or a heredoc."""
    if not any(sign in text for sign in "'\"\\`{(<[=#$") and "case" not in text and "E" not in text:
        assert run_by(text + "\ngit push --force", [FORCE]) == {0}


REPEATED = [
    "git push;", "$(", "`", "(", "((", "${", "${a$bcd", "${x ", "case x in $abc",
    "'a' ", '"', "\\", "<<E\n", "<(", "=", "a=", "x=(", "sudo ", "bash -c ", "eval ",
    "env A=b ", "case x in a) ", '"${a:-"b', "${ a;", "'a[$(b", "time if ", "[[ ", "$((",
    "find -exec ", "# ", "-=", '"$(', "git push --force --force ", "xargs -I ", "$'\\x",
]  # fmt: skip


def calls(text: str) -> int:
    """Return the number of function calls for reading a text, including C functions; other processes do not influence this measure."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        run_by(text, [FORCE, ["git", "push", "--never"]])
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("piece", every(12, REPEATED))
def test_a_long_command_takes_work_in_proportion(piece: str) -> None:
    short, long = (calls((piece * (length // len(piece) + 1))[:length]) for length in (4_000, 16_000))
    assert long < 5 * short + 1000


def test_heredocs_without_an_end_are_not_all_searched() -> None:
    text = ("x <<a\n" * MAX_CHARACTERS)[: MAX_CHARACTERS - 40] + "\ngit push --force\n"
    start = time.process_time()
    assert shell_commands(text)[-1].words == FORCE
    assert time.process_time() - start < 4  # 0.4 s; searching each one takes 13 s


def test_only_the_first_characters_are_read() -> None:
    assert run_by(" " * MAX_CHARACTERS + "git push --force", [FORCE]) == set()
    assert run_by(" " * (MAX_CHARACTERS - 20) + "git push --force", [FORCE]) == {0}
