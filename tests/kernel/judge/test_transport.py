"""The network: proxies, DNS lookups that hang, addresses that do not answer, processes that must end."""

from __future__ import annotations

import gc
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

import pytest

from memory_plugin.kernel.context import Deadline
from memory_plugin.kernel.judge import calls, transport
from memory_plugin.kernel.judge.credentials import ServerAccess
from memory_plugin.kernel.judge.question import JudgeError
from memory_plugin.kernel.judge.vendors import Address
from tests.kernel.judge import server
from tests.kernel.judge.bench import CHOSEN, KEY, Bench, payload, question
from tests.kernel.judge.server import Seen, serving
from tests.project import PLUGIN_ROOT

MakeBench = Callable[..., Bench]


def proxy_to(port: int) -> server.Act:
    """Return a proxy that connects every host to this port."""

    def act(conn: socket.socket, seen: Seen) -> None:
        with socket.create_connection(("127.0.0.1", port)) as far:
            conn.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            far.settimeout(0.05)
            conn.settimeout(0.05)
            end = monotonic() + 5
            while monotonic() < end:
                for source, sink in ((conn, far), (far, conn)):
                    try:
                        data = source.recv(65536)
                    except socket.timeout:
                        continue
                    if not data:
                        return
                    sink.sendall(data)

    return act


def test_a_server_behind_a_proxy(make_bench: MakeBench, tmp_path: Path) -> None:
    """The proxy sees the host's name and its own user, never the key."""
    paths = server.certificate(str(tmp_path), "DNS:judge.example.org")
    with (
        serving(server.answer(payload("anthropic")), server.tls(paths)) as api,
        serving(proxy_to(api.port)) as proxy,
    ):
        bench = make_bench("anthropic", "https://judge.example.org/base")
        bench.env["NODE_EXTRA_CA_CERTS"] = paths[0]
        bench.env["HTTPS_PROXY"] = "http://me:p%%40ss@127.0.0.1:%d" % proxy.port
        assert bench.ask().values == CHOSEN
        assert proxy.seen[0].line.startswith("CONNECT judge.example.org:443 HTTP/1.")
        assert proxy.seen[0].headers["proxy-authorization"] == "Basic bWU6cEBzcw=="
        assert KEY not in json.dumps(proxy.seen)
        assert api.seen[0].line == "POST /base/v1/messages HTTP/1.1"
        assert api.seen[0].headers["host"] == "judge.example.org"


def test_a_proxy_that_refuses(make_bench: MakeBench) -> None:
    with serving(server.answer({}, 407)) as proxy:
        bench = make_bench("anthropic", "https://judge.example.org")
        bench.env["HTTPS_PROXY"] = "http://127.0.0.1:%d" % proxy.port
        verdict = bench.ask()
        gc.collect()  # a connection that is left open is found in this test, not in another one
    assert (verdict.failure, verdict.detail) == ("proxy", "the proxy answered 407")


def test_a_certificate_for_another_name(make_bench: MakeBench, tmp_path: Path) -> None:
    paths = server.certificate(str(tmp_path), "DNS:elsewhere.example.org")
    with serving(server.answer(payload("anthropic")), server.tls(paths)) as api:
        bench = make_bench("anthropic", api.url)
        bench.env["NODE_EXTRA_CA_CERTS"] = paths[0]
        verdict = bench.ask()
        assert verdict.failure == "tls"
        assert api.seen == []


def access(port: int, host: str = "127.0.0.1") -> ServerAccess:
    """Return an access without a key."""
    return ServerAccess(Address("http", host, port, ""), (), "", "")


def places(*ports: int) -> list[tuple[object, ...]]:
    """Return the result of a DNS lookup."""
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)) for port in ports]


def fetch(port: int, body: bytes = b"{}", seconds: float = 2) -> transport.Response:
    """Return the response to a request."""
    request = transport.Request("POST", "/x", (), body)
    return calls.fetch(access(port), request, Deadline(seconds), None)


def test_the_next_address_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        nobody = gone.getsockname()[1]
    with serving(server.answer({"ok": 1})) as api:
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_: places(nobody, nobody, api.port))
        response = fetch(api.port)
    assert (response.status, json.loads(response.body)) == (200, {"ok": 1})


@pytest.mark.parametrize(
    "error", [socket.gaierror(-2, "Name or service not known"), UnicodeError("label too long")]
)
def test_a_host_name_that_does_not_resolve(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def unknown(*_: object) -> None:
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(JudgeError) as caught:
        fetch(80)
    assert (caught.value.name, caught.value.__context__) == ("network", None)


def fails(port: int, body: bytes = b"{}", seconds: float = 0.5) -> tuple[str, float]:
    """Return how a request fails, and after how many seconds."""
    started = monotonic()
    with pytest.raises(JudgeError) as caught:
        fetch(port, body, seconds)
    return caught.value.name, monotonic() - started


def test_a_body_that_the_server_does_not_read_ends_with_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        name, took = fails(deaf.getsockname()[1], b"x" * (64 << 20))
    assert (name, took < 5) == ("timeout", True)


@pytest.mark.parametrize("act", [server.drips_headers, server.drips_body, server.interim_forever])
def test_a_byte_now_and_then_does_not_put_off_the_deadline(act: server.Act) -> None:
    with serving(act) as api:
        name, took = fails(api.port)
    assert (name, took < 5) == ("timeout", True)


def test_an_error_page_of_any_size_keeps_its_status() -> None:
    with serving(server.sends(server.raw(500, b" " * (8 << 20)))) as api:
        assert fetch(api.port, seconds=20).status == 500


@pytest.mark.slow
def test_a_server_that_reads_slowly_does_not_put_off_the_deadline() -> None:
    def read_slowly() -> None:
        conn = listener.accept()[0]
        with conn:
            while conn.recv(200_000):
                sleep(0.02)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=read_slowly, daemon=True).start()
        name, took = fails(listener.getsockname()[1], b" " * (256 << 20))
    assert (name, took < 10) == ("timeout", True)


HANGING = """
import sys, time, socket
sys.path[:0] = sys.argv[1:3]
socket.getaddrinfo = lambda *_: time.sleep(30)
from memory_plugin.kernel.context import Deadline
from tests.kernel.judge.bench import Bench, question
bench = Bench(sys.argv[3], "anthropic", "https://judge.example.org")
judge, questions = bench.asker(), [question(), question(rubric="usefulness", data="y")]
start = time.monotonic()
verdicts = judge.ask_all(questions, Deadline(0.5))
print([verdict.failure for verdict in verdicts], time.monotonic() - start)
"""


def test_a_look_up_that_hangs_keeps_neither_the_ask_nor_the_process(tmp_path: Path) -> None:
    """A thread is stuck in a call that nothing can interrupt; the process ends all the same."""
    command = [sys.executable, "-c", HANGING, PLUGIN_ROOT + "/scripts", PLUGIN_ROOT, str(tmp_path)]
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    started = monotonic()
    run = subprocess.run(command, capture_output=True, timeout=20, env=env, check=True)
    failures, took = run.stdout.decode().rsplit(" ", 1)
    assert failures == "['timeout', 'timeout']"
    assert float(took) < 5
    assert monotonic() - started < 15
    assert run.stderr == b""


def test_two_questions_are_asked_in_parallel(make_bench: MakeBench) -> None:
    both = threading.Barrier(2, timeout=20)

    def choose(seen: Seen) -> server.Act:
        both.wait()  # nothing is answered before both questions are there
        key = "relevant" if '{"relevant"' in json.dumps(seen.body).replace('\\"', '"') else "useful"
        return server.answer(payload("anthropic", '{"%s": [1]}' % key))

    with serving(server.by_request(choose)) as api:
        judge = make_bench("anthropic", api.url).asker()
        verdicts = judge.ask_all([question(), question(rubric="usefulness")], Deadline(20))
    assert [verdict.values for verdict in verdicts] == [{"chosen": [1], "dropped": 0}] * 2
