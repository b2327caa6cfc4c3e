"""`hooks/register.js` alone, under Node with a `$` of our own: what it passes on, and that it never blocks a prompt."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.project import PLUGIN_ROOT

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="no Node")

SESSION = "0a1b2c3d-0000-4000-8000-000000000000"
# The calls of `$` that the module makes, on real files; `complete` is the model.
FAKE = (
    """
import fs from "node:fs"
import path from "node:path"
const files = fs.promises
export const host = (config, complete) => ({
  env: { get: async (name) => (name === "CLAUDE_CONFIG_DIR" ? config : undefined) },
  fs: {
    exists: async (name) => fs.existsSync(name),
    read: (name) => files.readFile(name, "utf8"),
    write: (name, text) => files.writeFile(name, text),
    list: async (name) => (await files.readdir(name)).map((entry) => ({ name: entry })),
  },
  clock: {
    now: async () => Date.now(),
    every: (ms, work) => { const timer = setInterval(work, ms); return { cancel: () => clearInterval(timer) } },
    after: (ms, work) => { const timer = setTimeout(work, ms); return { cancel: () => clearTimeout(timer) } },
  },
  session: { id: async () => SESSION },
  model: { complete },
})
export const SESSION = "%s"
export const ask = async (folder, number, session = SESSION, wrong = "") => {
  const stem = path.join(folder, `${session}.${number}`)
  const mark = path.join(folder, `${SESSION}.open`)
  const key = wrong || (fs.existsSync(mark) ? fs.readFileSync(mark, "utf8") : "")
  fs.writeFileSync(stem + ".ask", JSON.stringify({ model: "m", prompt: "p" + number, key }))
  for (let at = 0; at < 60; at++) {
    await new Promise((done) => setTimeout(done, 5))
    const text = fs.existsSync(stem + ".answer") ? fs.readFileSync(stem + ".answer", "utf8") : ""
    if (text.endsWith("\\n")) return JSON.parse(text)
  }
  return null
}
"""
    % SESSION
)
MAIN = """
import { host, ask, SESSION } from "./fake.mjs"
import { register } from "./register.mjs"
import fs from "node:fs"
const hooks = {}
register((name, ...rest) => { hooks[name] = rest.at(-1) })
const config = process.argv[2]
const folder = config + "/lcars/memory/judge/host"
const calls = []
const complete = async (request) => { calls.push(request.prompt); return { isAnswered: true, text: "t", usage: {} } }
const open = () => (fs.existsSync(`${folder}/${SESSION}.open`) ? fs.statSync(`${folder}/${SESSION}.open`).size > 0 : null)
const prompt = { session_id: SESSION, prompt: "hello" }
const say = (value) => { console.log(JSON.stringify(value)); process.exit(0) }
"""
FOLDER = os.path.join("lcars", "memory", "judge", "host")


def run(folder: Path, code: str, *, switched_on: bool = True) -> object:
    """Run some code after MAIN; return what it says."""
    assert NODE is not None
    shutil.copy(os.path.join(PLUGIN_ROOT, "hooks", "register.js"), folder / "register.mjs")
    (folder / "fake.mjs").write_text(FAKE, encoding="utf-8")
    (folder / "main.mjs").write_text(MAIN + code, encoding="utf-8")
    config = folder / "config"
    (config / FOLDER if switched_on else config).mkdir(parents=True)
    done = subprocess.run(
        [NODE, str(folder / "main.mjs"), str(config)], capture_output=True, check=False, timeout=30
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout)


def test_the_questions_of_a_prompt_are_passed_on_once_each(tmp_path: Path) -> None:
    code = """
const during = []
const next = async (e) => {
  during.push(open())
  const answers = await Promise.all([ask(folder, 1), ask(folder, 2), ask(folder, 3, "other")])
  return { additionalContext: JSON.stringify(answers.map((answer) => answer && answer.text)) }
}
const result = await hooks["classic.UserPromptSubmit"](host(config, complete), prompt, next)
say([result.additionalContext, calls.sort(), during, open()])
"""
    assert run(tmp_path, code) == ['["t","t",null]', ["p1", "p2"], [True], False]


@pytest.mark.parametrize(
    ("complete", "expected"),
    [
        pytest.param("async () => { throw new Error('blocked') }", "refused", id="refuses"),
        pytest.param("() => new Promise(() => {})", None, id="never answers"),
    ],
)
def test_a_model_without_an_answer(tmp_path: Path, complete: str, expected: str | None) -> None:
    code = """
const next = async () => (await ask(folder, 1))?.reason ?? null
say([await hooks["classic.UserPromptSubmit"](host(config, %s), prompt, next), open()])
"""
    assert run(tmp_path, code % complete) == [expected, False]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param("$.env.get = async () => undefined", id="no home"),
        pytest.param("$.fs.write = async () => { throw new Error('EROFS') }", id="cannot write"),
        pytest.param("$.fs.list = async () => { throw new Error('EIO') }", id="cannot list"),
        pytest.param("delete $.clock", id="another API"),
        pytest.param("prompt.session_id = '../../x'", id="a strange session"),
    ],
)
def test_whatever_fails_the_prompt_goes_on(tmp_path: Path, change: str) -> None:
    code = """
const $ = host(config, complete)
%s
say([await hooks["classic.UserPromptSubmit"]($, prompt, async () => "gone on"), calls, fs.readdirSync(config)])
"""
    assert run(tmp_path, code % change) == ["gone on", [], ["lcars"]]


def test_nothing_happens_until_the_backend_is_chosen(tmp_path: Path) -> None:
    code = """
const next = async () => [open(), fs.readdirSync(config)]
say(await hooks["classic.UserPromptSubmit"](host(config, complete), prompt, next))
"""
    assert run(tmp_path, code, switched_on=False) == [None, []]


@pytest.mark.parametrize(
    ("interactive", "answer"), [("true", "t"), ("false", None)], ids=["in a terminal", "printing"]
)
def test_after_a_reply_it_listens_in_a_terminal(tmp_path: Path, interactive: str, answer: str | None) -> None:
    code = """
const $ = host(config, complete)
await hooks["session.start"]($, { isInteractive: %s }, async (e) => e)
await hooks["classic.Stop"]($, prompt, async () => ({}))
const found = (await ask(folder, 1))?.text ?? null
await hooks["classic.UserPromptSubmit"]($, prompt, async () => ({}))
say([found, open() === (found !== null)])
"""
    assert run(tmp_path, code % interactive) == [answer, True]


def test_a_request_of_another_program_gets_no_answer(tmp_path: Path) -> None:
    code = """
const next = async () => [await ask(folder, 1, SESSION, "guessed"), await ask(folder, 2, SESSION, " ")]
say([await hooks["classic.UserPromptSubmit"](host(config, complete), prompt, next), calls])
"""
    assert run(tmp_path, code) == [[None, None], []]


def test_only_a_few_questions_of_a_prompt_are_answered(tmp_path: Path) -> None:
    code = """
const next = async () => Promise.all(Array.from({ length: 40 }, (_, at) => ask(folder, at)))
const answers = await hooks["classic.UserPromptSubmit"](host(config, complete), prompt, next)
say([answers.filter((answer) => answer).length, calls.length])
"""
    assert run(tmp_path, code) == [8, 8]


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("memory judge check", "t"),
        ("'/opt/my tools/../bin/memory' judge check", None),
        ("/opt/bin/memory judge check", "t"),
        ("python3 /opt/scripts/memory.py judge check", "t"),
        ("memory interview answer - <<'END'", "t"),
        ("ls -l", None),
        ("sh build.sh # memory", None),
        ("sh memory", None),
    ],
)
def test_a_command_of_ours_is_listened_to(tmp_path: Path, command: str, answer: str | None) -> None:
    code = """
const next = async () => (await ask(folder, 1))?.text ?? null
say(await hooks["tool.call"](host(config, complete), { tool: "Bash", command: %s }, next))
"""
    assert run(tmp_path, code % json.dumps(command)) == answer
