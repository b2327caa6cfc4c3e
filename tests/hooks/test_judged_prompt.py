"""The prompt hook as a real process, with judges that answer, fail, stall, or must not be asked."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any, NamedTuple

import pytest

from tests.kernel.judge import server
from tests.kernel.judge.bench import KEY, payload
from tests.kernel.judge.server import Act, Seen, Server, answer, by_request
from tests.project import PLUGIN_ROOT, Project, Run
from tests.recall.store_files import memory, put_accepted
from tests.rows import every
from tests.test_house import modules_of

ASK = "Which billing database do the tests use?"
TITLES = [
    "Use Postgres for the billing database",
    "Billing tests need the seeded database",
    "Billing runs at night",
]
NETWORK = {"socket", "_socket", "ssl", "_ssl", "http.client", "urllib.request", "selectors"}
SECRET = "ghp_" + "a8Kd02mNq7Zx4Wv9Lp3Rt6Yb1Cf5Hj0GsE2U"


class Judged(NamedTuple):
    """A project whose user has switched judges on."""

    project: Project
    api: Server

    def settings(
        self,
        *,
        env: dict[str, str] | None = None,
        retrieval: dict[str, Any] | None = None,
        prices: dict[str, list[float]] | None = None,
    ) -> None:
        """Write the user's file: by default everything that is found is unsure."""
        wanted: dict[str, Any] = {
            "inject_threshold": 1.0,
            "pointer_threshold": 1.0,
            **(retrieval or {}),
        }
        wanted["judge"] = {"timeout_per_call": 1.0, "min_confidence": 0.0, **wanted.get("judge", {})}
        memory = {"retrieval": wanted, "judge": {"base_url": self.api.url, "prices": prices or {}}}
        own = {"env": {"ANTHROPIC_API_KEY": KEY} if env is None else env, "memory": memory}
        with open(os.path.join(self.project.config, "settings.json"), "w", encoding="utf-8") as file:
            json.dump(own, file)

    def decision(self) -> dict[str, Any]:
        """Return what the ledger says of the judges on the last prompt."""
        found: dict[str, Any] = self.project.ledger("recalls")[-1]["judge"]
        return found

    def prompt(self, text: str = ASK, prompt_id: str = "p1") -> Run:
        """One prompt; whatever happens, it goes through."""
        run = self.project.prompt(text, prompt_id)
        assert run.returncode == 0
        assert "Traceback" not in run.stderr
        return run


@pytest.fixture
def judged(project: Project) -> Iterator[Callable[[Act], Judged]]:
    """Make a project with three memories and a server that acts so."""
    servers: list[Server] = []
    for number, title in enumerate(TITLES):
        put_accepted(project, "m%d" % number, memory(title, "Body of %s: xylophone. It goes on." % title))

    def make(act: Act) -> Judged:
        servers.append(Server(act))
        found = Judged(project, servers[-1])
        found.settings()
        return found

    yield make
    for one in servers:
        one.close()


MakeJudged = Callable[[Act], Judged]


def choosing(**titles: list[str]) -> Act:
    """Judges that choose the memories with these titles: `relevant`, `useful`."""

    def choose(seen: Seen) -> Act:
        text: str = seen.body["messages"][0]["content"]
        notes = json.loads(text[text.index("<data>") + 6 : text.index("</data>")])["notes"]
        key = "relevant" if '{"relevant"' in text else "useful"
        chosen = [note["index"] for note in notes if note["title"] in titles[key]]
        return answer(payload("anthropic", json.dumps({key: chosen})))

    return by_request(choose)


def test_memories_both_judges_keep_are_injected_and_the_rest_get_pointers(judged: MakeJudged) -> None:
    box = judged(choosing(relevant=TITLES[:2], useful=TITLES[1:]))
    context = box.prompt().context
    full, titles, pointers = context.partition("<memory-titles>")
    assert [title for title in TITLES if title in full] == [TITLES[1]]
    assert titles
    assert [title for title in TITLES if title in pointers] == [TITLES[0], TITLES[2]]
    assert len(box.api.seen) == 2
    assert all("xylophone" not in json.dumps(seen.body) for seen in box.api.seen)
    assert (box.decision()["path"], box.decision()["asked"]) == ("judged", 3)
    assert [row["outcome"] for row in box.project.ledger("judge-calls")] == ["ok", "ok"]


def test_a_memory_only_one_judge_keeps_gets_a_pointer(judged: MakeJudged) -> None:
    box = judged(choosing(relevant=TITLES[:1], useful=TITLES[1:2]))
    run = box.prompt()
    assert "<memory " not in run.context
    assert [title for title in TITLES if title in run.context] == TITLES[:2]
    assert run.message.startswith("memory: showed Claude the titles ")
    assert box.project.ledger("recalls")[-1]["outcome"] == "pointed"


def test_nothing_is_printed_when_the_judges_keep_nothing(judged: MakeJudged) -> None:
    run = judged(choosing(relevant=[], useful=[])).prompt()
    assert run.stdout == ""


FAILURES: dict[str, tuple[Act, str]] = {
    "500": (answer({}, 500), "http_500"),
    "529": (answer({}, 529), "overloaded"),
    "a page": (server.sends(server.raw(200, b"<p>", content_type="text/html")), "wrong_type"),
    "nonsense": (answer(payload("anthropic", "I had rather write a poem.")), "parse_error"),
    "reset": (server.reset, "network"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failing_judge_falls_back_to_the_best_two_by_threshold(judged: MakeJudged, name: str) -> None:
    act, failure = FAILURES[name]
    box = judged(act)
    box.settings(retrieval={"inject_threshold": 0.0, "judge": {"when": "always"}})
    context = box.prompt().context
    assert sum(title in context for title in TITLES) == 2
    assert box.decision()["path"] == "fallback"
    assert box.decision()["reasons"] == ["relevance: " + failure, "usefulness: " + failure]


def test_without_a_key_the_best_two_memories_are_injected(judged: MakeJudged) -> None:
    box = judged(server.reset)
    box.settings(env={}, retrieval={"inject_threshold": 0.0})
    context = box.prompt().context
    assert sum(title in context for title in TITLES) == 2
    assert box.decision()["path"] == "no_key"
    assert box.api.connections == 0


def test_a_prompt_in_other_words_is_judged_over_the_whole_store(judged: MakeJudged) -> None:
    box = judged(choosing(relevant=TITLES[:1], useful=TITLES[:1]))
    box.settings(retrieval={"inject_threshold": 0.5})
    assert TITLES[0] in box.prompt("In welcher Ablage liegen Kundenrechnungen?").context
    assert box.decision()["asked"] == len(TITLES)


def test_a_refused_key_is_reported_once(judged: MakeJudged) -> None:
    box = judged(answer({}, 401))
    messages = [(box.prompt(prompt_id=name).json or {}).get("systemMessage", "") for name in ("p1", "p2")]
    assert "http_401" in messages[0]
    assert messages[1] == ""
    assert box.api.connections == 2


@pytest.mark.parametrize("act", [server.drips_headers, server.drips_body, server.silent])
def test_a_stalling_server_is_cut_off_by_the_timeout(judged: MakeJudged, act: Act) -> None:
    box = judged(act)
    box.settings(env={})
    started = monotonic()
    box.prompt()
    without = monotonic() - started
    box.settings()
    started = monotonic()
    box.prompt(prompt_id="p2")
    assert monotonic() - started - without < 1.0 + 5
    assert set(box.decision()["reasons"]) == {"relevance: timeout", "usefulness: timeout"}


@pytest.mark.parametrize(
    "name", ["ANTHROPIC_BASE_URL", "HTTPS_PROXY", "NODE_EXTRA_CA_CERTS", "ANTHROPIC_API_KEY"]
)
def test_no_judge_runs_in_a_project_that_sets_network_or_key_variables(judged: MakeJudged, name: str) -> None:
    box = judged(server.reset)
    box.project.write(".claude/settings.json", {"env": {name: "http://127.0.0.1:9"}})
    box.prompt()
    assert box.decision()["path"] == "disabled"
    assert box.api.connections == 0
    assert box.project.ledger("judge-calls") == []


@pytest.mark.parametrize(
    ("retrieval", "loaded"),
    [
        pytest.param({"inject_threshold": 0.0, "judge": {"when": "unsure"}}, False, id="nothing is unsure"),
        pytest.param({"judge": {"min_confidence": 1.0, "when": "unsure"}}, False, id="nothing is near"),
        pytest.param({}, True, id="everything is judged"),
    ],
)
def test_the_network_is_imported_only_when_a_judge_is_asked(
    judged: MakeJudged, retrieval: dict[str, Any], *, loaded: bool
) -> None:
    box = judged(server.reset)
    box.settings(retrieval=retrieval)
    box.prompt()
    event = json.dumps(box.project.event("UserPromptSubmit", prompt=ASK, prompt_id="p2", session_id="s2"))
    hook = os.path.join(PLUGIN_ROOT, "hooks", "user_prompt_submit.py")
    found, _ = modules_of(box.project, [hook], event.encode())
    assert bool(found & NETWORK) is loaded


@pytest.mark.slow
def test_a_judge_may_take_longer_than_the_rest_of_the_hook_combined(judged: MakeJudged) -> None:
    """`timeout_per_call` is honored up to its limit of ten seconds; the host kills the hook at fifteen."""
    box = judged(server.after(5.5, choosing(relevant=TITLES[1:2], useful=TITLES[1:2])))
    box.settings(retrieval={"judge": {"timeout_per_call": 10}})
    assert TITLES[1] in box.prompt().context
    assert box.decision()["judge_ms"] > 5500


def test_the_ledger_computes_costs_from_the_users_own_prices(judged: MakeJudged) -> None:
    box = judged(choosing(relevant=TITLES, useful=[]))
    box.settings(retrieval={"judge": {"model": "somebody-elses-model"}})
    box.prompt()
    box.settings(
        retrieval={"judge": {"model": "somebody-elses-model"}}, prices={"somebody-elses-model": [10, 100]}
    )
    box.prompt("Which seeded database do the billing tests use at night?", "p2")
    costs = [row["cost_usd"] for row in box.project.ledger("judge-calls")]
    assert costs[:2] == [None, None]
    assert costs[2:] == [pytest.approx((600 * 10 + 12 * 100) / 1e6)] * 2


def every_file(*folders: str) -> dict[str, str]:
    """All files below some folders, with their content."""
    found = {}
    for top in folders:
        for folder, _, names in os.walk(top):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[path] = file.read().decode("utf-8", "replace")
    return found


TELLTALES: dict[str, Act] = {
    "good answers": choosing(relevant=TITLES, useful=[]),
    "a refusal that quotes key and prompt": answer(
        {"error": {"message": "bad key %s %s" % (KEY, SECRET)}}, 401
    ),
    "an answer that quotes them": answer(payload("anthropic", "%s said %s" % (KEY, SECRET))),
    "headers that quote them": server.sends(server.raw(529, b"{}", retry_after="soon " + SECRET, x_echo=KEY)),
    "a page that quotes them": server.sends(
        server.raw(200, (KEY + SECRET).encode(), content_type="text/html " + SECRET)
    ),
    "a broken connection": server.reset_in_body,
}


@pytest.mark.parametrize("name", every(4, TELLTALES))
def test_no_secret_from_a_prompt_memory_or_key_is_written_or_sent(judged: MakeJudged, name: str) -> None:
    box = judged(TELLTALES[name])
    project = box.project
    project.save("The token for the billing database " + SECRET, "It is %s." % SECRET, "--tags", SECRET)
    by_hand = {
        "schema_version": "1.0",
        "title": "The billing database key " + SECRET,
        "content": {"rule": SECRET},
    }
    own = project.write(".claude/memory/constraints/by-hand.json", by_hand)
    project.cli("config", "set", "ledger.keep_text", '["prompts"]')
    run = box.prompt(ASK + " <private>my aunt Agatha</private> with " + SECRET)
    outputs = [run.stdout, run.stderr]
    for words in (["why", "--json"], ["doctor", "--json"], ["status"]):
        done = project.cli(*words)
        outputs += [done.stdout, done.stderr]
    sent = json.dumps([seen.body for seen in box.api.seen])
    assert len(box.api.seen) == 2
    mine = {own, os.path.join(project.config, "settings.json")}
    mine.add(os.path.join(project.config, "settings.json.memory-backup"))
    project.wait_for_background()
    written = every_file(project.home, project.root)
    assert "[redacted:" in written[os.path.join(project.state, "recalls.jsonl")]
    for gone in (SECRET, SECRET[4:24], "Agatha", KEY):
        assert gone not in sent
        assert [text for text in outputs if gone in text] == []
        assert [path for path, text in written.items() if gone in text and path not in mine] == []


BLOCKS: dict[str, dict[str, Any]] = {
    "no key": {"retrieval": {"judge": {"enabled": True}}},
    "a dead server": {
        "env": {"ANTHROPIC_API_KEY": KEY},
        "memory": {"judge": {"base_url": "http://127.0.0.1:9"}, "retrieval": {"judge": {"enabled": True}}},
    },
    "no client that listens": {"memory": {"judge": {"backend": "host"}, "retrieval": {"judge": {}}}},
    "switched off": {"retrieval": {"judge": {"enabled": False}}},
}


@pytest.mark.parametrize("name", BLOCKS)
def test_the_prompt_of_the_original_design_gets_a_pointer_without_a_judge(
    project: Project, name: str
) -> None:
    titles = {
        "JWT authentication token refresh flow": ["auth", "jwt", "token"],
        "Staging is reset every night at 03:00": [],
        "Billing runs on Postgres 16": [],
        "CSS follows BEM naming": [],
        "Release branch is cut on Thursdays": [],
    }
    for number, (title, tags) in enumerate(titles.items()):
        put_accepted(project, "m%d" % number, memory(title, "Body.", tags=tags))
    with open(os.path.join(project.config, "settings.json"), "w", encoding="utf-8") as file:
        json.dump(BLOCKS[name], file)
    run = project.prompt("how to fix the authentication bug")
    assert "m0: JWT authentication token refresh flow" in run.context
    assert "m1" not in run.context
