"""Measure what two judges add to the wait for a prompt: cold hook processes and a local server that takes T to answer.

    python3 benchmarks/judge_wait.py [--waits 50,100,200,300,500] [--rounds 11] [--json]

First, in one process, in turn: the slower judge alone, with a server that takes T, and both judges in parallel, with 0.6 T for the other.
Both together must take at most 1.15 times as long as the slower one alone takes on this machine, so its other work counts for both.

Then as hooks, interleaved in one run: the hook without judges, the hook with judges that answer after T, the empty interpreter, and the
interpreter with the judges' imports (network, threads, hygiene rules). The bound: hook with judges <= 1.15 T + hook without + imports. In a
last case the server sends one byte per second; the hook must end within the configured timeout + 200 ms. The figures are medians in
milliseconds, except for the last case: its maximum.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HOOK = os.path.join(ROOT, "hooks", "user_prompt_submit.py")
COMMAND = os.path.join(ROOT, "scripts", "memory.py")
IMPORTS = """
import sys
sys.path.insert(0, %r)
from memory_plugin.kernel.judge import budget, calls, question, transport, vendors
question.one_line("token key login", 100)
""" % os.path.join(ROOT, "scripts")
TIMEOUT = 1.0
MEMORIES = [
    "Use Postgres for the billing database",
    "Billing tests need the seeded database",
    "Billing runs at night",
]


class Server:
    """A server that chooses all memories after `wait` seconds, or sends one byte per second if `wait` is negative."""

    def __init__(self) -> None:
        self.wait = 0.0
        self.second: float | None = None  # for the second judge, where it takes another time
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            threading.Thread(target=self._serve, args=self._listener.accept()[:1], daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with sock:
            data = b""
            while b"\r\n\r\n" not in data or len(data.partition(b"\r\n\r\n")[2]) < _length(data):
                data += sock.recv(65536)
            try:
                self._answer(sock, "relevant" if b'{\\"relevant\\"' in data else "useful")
            except OSError:
                return

    def _answer(self, sock: socket.socket, key: str) -> None:
        text = json.dumps({key: [0, 1, 2]})
        usage = {"input_tokens": 600, "output_tokens": 12}
        message = {
            "type": "message",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "usage": usage,
        }
        body = json.dumps(message).encode()
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        if self.wait >= 0:
            time.sleep(self.wait if self.second is None or key == "relevant" else self.second)
            sock.sendall(head + body)
            return
        for at in range(len(head)):
            sock.sendall(head[at : at + 1])
            time.sleep(1.0)


def _length(data: bytes) -> int:
    for line in data.partition(b"\r\n\r\n")[0].lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


class Box:
    """A home and a project with a few memories, all of them unsure."""

    def __init__(self, folder: str, url: str) -> None:
        self.config = os.path.join(folder, "home", ".claude")
        self.project = os.path.join(folder, "project")
        os.makedirs(self.config)
        os.makedirs(self.project)
        self.url = url
        self.number = 0
        self.environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": os.path.dirname(self.config),
            "CLAUDE_CONFIG_DIR": self.config,
            "CLAUDE_PROJECT_DIR": self.project,
            "ANTHROPIC_API_KEY": "sk-made-up",
            "LANG": "C.UTF-8",
        }
        subprocess.run(["git", "init", "-q", self.project], check=True)
        for title in MEMORIES:
            words = ["save", "--category", "decision", "--title", title, "--body", title + "."]
            self.run([sys.executable, COMMAND, *words, "--root", self.project])

    def settings(self, *, judges: bool) -> None:
        """Write the user's settings, with caps high enough for a benchmark."""
        judge = {"base_url": self.url, "caps": {"session_usd": 100, "day_usd": 1000}}
        retrieval = {
            "inject_threshold": 1.0,
            "judge": {"enabled": judges, "min_confidence": 0.0, "timeout_per_call": TIMEOUT},
        }
        with open(os.path.join(self.config, "settings.json"), "w", encoding="utf-8") as file:
            json.dump({"memory": {"retrieval": retrieval, "judge": judge}}, file)

    def run(self, command: list[str], stdin: bytes = b"") -> tuple[float, bytes]:
        """Return the milliseconds that a process takes, and its output."""
        start = time.perf_counter()
        done = subprocess.run(
            command, input=stdin, capture_output=True, env=self.environment, check=True, cwd=self.project
        )
        return (time.perf_counter() - start) * 1000, done.stdout

    def hook(self) -> tuple[float, bytes]:
        """Run the hook on a new prompt in a new session."""
        self.number += 1
        event = {
            "hook_event_name": "UserPromptSubmit",
            "session_id": "s%d" % self.number,
            "prompt": "Which billing database do the tests use? %d" % self.number,
            "prompt_id": "p%d" % self.number,
            "cwd": self.project,
        }
        return self.run([sys.executable, "-I", "-S", HOOK], json.dumps(event).encode())


def measure(waits: list[float], rounds: int) -> dict[str, object]:
    """Return all results."""
    server = Server()
    with tempfile.TemporaryDirectory() as folder:
        box = Box(folder, server.url)
        found: dict[str, list[float]] = {}
        for _ in range(rounds + 1):
            box.settings(judges=False)
            found.setdefault("hook without", []).append(box.hook()[0])
            for name, code in (("interpreter", "pass"), ("imports", IMPORTS)):
                found.setdefault(name, []).append(box.run([sys.executable, "-I", "-S", "-c", code])[0])
            box.settings(judges=True)
            for wait in waits:
                server.wait = wait / 1000
                took, output = box.hook()
                assert b"Postgres" in output, "the judges' choice was not injected"
                found.setdefault("judges %g" % wait, []).append(took)
        server.wait = -1.0
        drips = [box.hook()[0] for _ in range(2)]  # after these two the server is not asked for a while
    medians = {name: statistics.median(times[1:]) for name, times in found.items()}
    network = medians["imports"] - medians["interpreter"]
    rows = []
    for wait in waits:
        bound = 1.15 * wait + medians["hook without"] + network
        took = medians["judges %g" % wait]
        rows.append({"wait": wait, "hook": round(took, 1), "bound": round(bound, 1), "holds": took <= bound})
    return {
        "interpreter": round(medians["interpreter"], 1),
        "imports": round(network, 1),
        "hook_without": round(medians["hook without"], 1),
        "judges": rows,
        "drip": {
            "timeout": TIMEOUT * 1000,
            "worst": round(max(drips), 1),
            "holds": max(drips) <= TIMEOUT * 1000 + 200,
        },
    }


PAIR = """
import json, sys
sys.path.insert(0, %r)
from memory_plugin.kernel.context import Deadline
from memory_plugin.kernel.context import Context
from memory_plugin.kernel.judge.asking import Judge
from memory_plugin.kernel.judge.question import Question
from memory_plugin.kernel.judge.question import load_rubric
from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.settings.load import load
places = Paths(sys.argv[1])
settings = load(places.config_dir, places.project_root)
context = Context(places, settings, Deadline(20), "pair")
judge = Judge("retrieval", context, waits=True)
took = {"relevance": [], "relevance usefulness": []}
for at in range(int(sys.argv[2]) + 1):
    for names, times in took.items():
        asked = [Question(load_rubric(name), at, lambda value: value) for name in names.split()]
        deadline = Deadline(20)
        verdicts = judge.ask_all(asked, deadline, fresh=True)
        times.append(deadline.elapsed_ms())
        assert not any(verdict.failure for verdict in verdicts), [verdict.failure for verdict in verdicts]
print(json.dumps([times[1:] for times in took.values()]))
""" % os.path.join(ROOT, "scripts")


def side_by_side(waits: list[float], rounds: int) -> list[dict[str, object]]:
    """Compare the time of two judges together with 1.15 times that of the slower one alone."""
    server = Server()
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        box = Box(folder, server.url)
        box.settings(judges=True)
        for wait in waits:
            server.wait, server.second = wait / 1000, 0.6 * wait / 1000
            words = [sys.executable, "-I", "-S", "-c", PAIR, box.project, str(rounds)]
            alone, both = map(statistics.median, json.loads(box.run(words)[1]))
            bound = 1.15 * alone
            rows.append(
                {
                    "wait": wait,
                    "alone": round(alone, 1),
                    "both": round(both, 1),
                    "bound": round(bound, 1),
                    "holds": both <= bound,
                }
            )
    return rows


def main() -> int:
    """Print the figures, and whether each bound holds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--waits", default="50,100,200,300,500", help="milliseconds that the server takes")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    waits = [float(wait) for wait in arguments.waits.split(",")]
    pairs = side_by_side(waits, arguments.rounds)
    figures = {"side_by_side": pairs, **measure(waits, arguments.rounds)}
    rows, drip = figures["judges"], figures["drip"]
    assert isinstance(rows, list)
    assert isinstance(drip, dict)
    if arguments.json:
        print(json.dumps(figures, indent=2))
    else:
        for row in pairs:
            print(
                "T = %(wait)3g ms: slower judge alone %(alone)6.1f ms, both %(both)6.1f ms, bound %(bound)6.1f ms, holds: %(holds)s"
                % row
            )
        print(
            "interpreter %(interpreter)s ms, imports %(imports)s ms, hook without judges %(hook_without)s ms"
            % figures
        )
        for row in rows:
            print("T = %(wait)3g ms: hook %(hook)6.1f ms, bound %(bound)6.1f ms, holds: %(holds)s" % row)
        print("a server that drips: %(worst)s ms at a time-out of %(timeout)g ms, holds: %(holds)s" % drip)
    return 0


if __name__ == "__main__":
    sys.exit(main())
