"""The user's own certificate authorities."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_plugin.kernel.judge.question import explain_failure
from tests.kernel.judge import server
from tests.kernel.judge.bench import CHOSEN, Bench, access_of, payload
from tests.kernel.judge.server import answer, serving

MakeBench = Callable[..., Bench]
GOOD = answer(payload("anthropic"))


def openssl(folder: Path, *words: str) -> None:
    """Run one command of OpenSSL in a folder."""
    env = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(folder)}
    subprocess.run(["openssl", *words], check=True, capture_output=True, env=env, cwd=folder)


@pytest.fixture
def company(tmp_path: Path, certified: Path) -> Path:
    """Return a folder of the test's own with the files of `certified`."""
    return Path(shutil.copytree(certified, tmp_path / "company"))


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a company's authority (`ca.pem`), whose constraints are not critical, and a server's certificate by it."""
    folder = tmp_path_factory.mktemp("certified")
    (folder / "ca.cnf").write_text(
        "[req]\ndistinguished_name=dn\nprompt=no\nx509_extensions=v3\n[dn]\nCN=company\n"
        "[v3]\nbasicConstraints=CA:TRUE\nkeyUsage=keyCertSign\nsubjectKeyIdentifier=hash\n",
        encoding="ascii",
    )
    (folder / "leaf.cnf").write_text(
        "subjectAltName=IP:127.0.0.1\nauthorityKeyIdentifier=keyid\nsubjectKeyIdentifier=hash\n",
        encoding="ascii",
    )
    new = ("-newkey", "rsa:2048", "-nodes")
    openssl(
        folder, "req", "-x509", *new, "-days", "2", "-config", "ca.cnf", "-keyout", "ca.key", "-out", "ca.pem"
    )
    openssl(folder, "req", *new, "-subj", "/CN=server", "-keyout", "key.pem", "-out", "leaf.csr")
    sign = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "leaf.cnf")
    openssl(folder, "x509", "-req", "-in", "leaf.csr", *sign, "-out", "cert.pem")
    return folder


def server_side(company: Path) -> ssl.SSLContext:
    """Return the server's side of TLS."""
    return server.tls((str(company / "cert.pem"), str(company / "key.pem")))


@pytest.mark.parametrize("variable", ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"])
def test_an_authority_without_critical_constraints_is_taken(
    make_bench: MakeBench, company: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """Python 3.13 and later reject it by default; the client accepts it."""
    with serving(GOOD, server_side(company)) as api:
        bench = make_bench("anthropic", api.url)
        assert bench.ask().failure == "tls"
        bench.env["NODE_EXTRA_CA_CERTS"] = str(company / "ca.pem") if variable.startswith("NODE") else ""
        if variable == "SSL_CERT_FILE":
            monkeypatch.setenv(variable, str(company / "ca.pem"))
        verdict = bench.ask()
        assert (verdict.values, verdict.detail) == (CHOSEN, "")


def test_without_an_authority_of_the_users_own_checks_stay_strict(
    make_bench: MakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"):
        monkeypatch.delenv(name, raising=False)
    from memory_plugin.kernel.judge.transport import tls_context

    bench = make_bench("anthropic", "https://127.0.0.1:9")
    context = tls_context(access_of(bench.asker()))
    assert context is not None
    assert context.verify_flags == ssl.create_default_context().verify_flags
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


@pytest.mark.parametrize("content", [None, "", "no certificate"])
def test_a_file_of_authorities_that_cannot_be_read_is_ignored(
    make_bench: MakeBench, company: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    path = company / "extra.pem"
    if content is not None:
        path.write_text(content, encoding="ascii")
    monkeypatch.setenv("SSL_CERT_FILE", str(company / "ca.pem"))
    with serving(GOOD, server_side(company)) as api:
        bench = make_bench("anthropic", api.url)
        bench.env["NODE_EXTRA_CA_CERTS"] = str(path)
        assert bench.ask().values == CHOSEN


def test_a_failed_handshake_says_where_an_authority_goes() -> None:
    assert "NODE_EXTRA_CA_CERTS" in explain_failure("tls", "retrieval").do
