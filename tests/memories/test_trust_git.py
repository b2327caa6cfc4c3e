"""Trust with real git: a memory from git is pending, and a trusted text stays trusted wherever git puts it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.memories import lifecycle
from memory_plugin.memories.memory_files import StoredMemory, all_memories, project_store
from memory_plugin.memories.record import categories, new_memory
from memory_plugin.memories.trust import PENDING, REJECTED, TRUSTED, Trust
from tests.project import Project


def data(title: str, body: str = "The ledger proxy listens here.") -> dict[str, object]:
    return new_memory(categories()["decision"], "", title, {"decision": body}, {})


def write(project: Project, name: str, title: str) -> None:
    project.write(".claude/memory/decisions/%s.json" % name, {**data(title), "id": name})


def commit(project: Project, message: str) -> None:
    project.git("add", "-A")
    project.git("commit", "-q", "-m", message)


def memories(paths: Paths) -> dict[str, StoredMemory]:
    return {stored.memory.id: stored for stored in all_memories(project_store(paths))}


def trust(root: str) -> dict[str, str]:
    """Return the trust of every memory of the project in a folder, by id."""
    paths = Paths(root)
    trust = Trust(paths)
    return {name: trust.state_of(stored) for name, stored in memories(paths).items()}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Build the repository of all tests once: `mine` is trusted, one branch adds `port`, and another also has a conflict."""
    box = str(tmp_path_factory.mktemp("template"))
    project = Project(box)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", project.home)
        patch.setenv("CLAUDE_CONFIG_DIR", project.config)
        paths = Paths(project.root)
        lifecycle.save(paths, project_store(paths), data("Mine"), approved=True)
        commit(project, "first")
        project.git("switch", "-q", "-c", "theirs")
        write(project, "port", "The port")
        commit(project, "port")
        project.git("switch", "-q", "-c", "conflict")
        write(project, "mine", "Changed by them")
        commit(project, "conflict")
        project.git("switch", "-q", "main")
        yield box


@pytest.fixture
def repository(template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Return a copy of the repository with its own home; its folder therefore has another name."""
    box = str(tmp_path_factory.mktemp("copy"))
    project = Project(os.path.join(box, "unused"))
    for name in ("project", "home", "tmp"):
        shutil.copytree(os.path.join(template, name), os.path.join(box, name), symlinks=True)
    project.root, project.home = os.path.join(box, "project"), os.path.join(box, "home")
    project.config = os.path.join(project.home, ".claude")
    project.state = os.path.join(project.config, "lcars", "memory")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", project.home)
        patch.setenv("CLAUDE_CONFIG_DIR", project.config)
        yield project


MAIL = "git format-patch -q --stdout main..theirs > ../mail && git am -q ../mail"
MINE = "git commit -q --allow-empty -m mine"
FORGED = "GIT_COMMITTER_NAME='Bo\tcommit: x' GIT_REFLOG_ACTION=commit git merge -q --no-edit theirs"
HIDE = "git sparse-checkout set --no-cone '/*' '!/.claude/memory/decisions/port.json'"
BRINGING = {
    "a pull": "git pull -q . theirs",
    "a merge": "git merge -q theirs",
    "a merge commit": MINE + " && git merge -q --no-edit theirs",
    "a merge without a commit": "git merge -q --no-ff --no-commit theirs",
    "a squashed merge": "git merge -q --squash theirs",
    "a merge with a conflict": "git commit -q --allow-empty -m x && sed -i s/Mine/Ours/ .claude/memory/decisions/mine.json"
    " && git commit -q -a -m ours && ! git merge -q conflict",
    "a cherry-pick": "git cherry-pick theirs",
    "a cherry-pick without a commit": "git cherry-pick -n theirs",
    "mail": MAIL,
    "mail by three ways": MAIL.replace("am -q", "am -q -3"),
    "a stash": "git checkout -q theirs -- . && git stash -q && git stash pop -q",
    "a rebase": MINE + " && git rebase -q theirs",
    "a reset": "git reset -q --hard theirs",
    "a switch": "git switch -q theirs",
    "a checkout of files": "git checkout -q theirs -- .claude",
    "a restore": "git restore -q --source theirs .claude",
    "a sparse checkout that ends": HIDE + " && git merge -q theirs && git sparse-checkout disable",
    "an applied diff": "git diff main theirs | git apply",
    "an unpacked archive": "git archive theirs | tar x",
    "forged names in the log": FORGED,
    "no log at all": "git config core.logAllRefUpdates false && rm -r .git/logs && git merge -q theirs",
    "a hand edit": "git show theirs:.claude/memory/decisions/port.json > .claude/memory/decisions/port.json",
    "a submodule": "git rm -q -r .claude && rm -r .claude && git commit -q -m x && git clone -q -b theirs . ../sub && mkdir ../store"
    " && mv ../sub/.claude/memory ../store/memory && cd ../store && git init -q && git add -A && git commit -q -m s"
    " && cd ../project && git -c protocol.file.allow=always submodule --quiet add ../store .claude",
}


@pytest.mark.parametrize("command", BRINGING.values(), ids=BRINGING.keys())
def test_a_memory_from_git_is_pending(repository: Project, command: str) -> None:
    run = repository.process(["sh", "-ec", command])
    assert run.returncode == 0, run.stderr
    found = trust(repository.root)
    assert found.pop("port") == PENDING
    assert set(found.values()) <= {TRUSTED}, "what was trusted stays so; a conflict leaves no memory at all"


def renamed(project: Project, box: str) -> str:
    os.rename(project.root, box + "/renamed")
    return box + "/renamed"


def copied(project: Project, box: str) -> str:
    shutil.copytree(project.root, box + "/copied")
    return box + "/copied"


def cloned(project: Project, box: str) -> str:
    project.git("clone", "-q", project.root, box + "/cloned")
    return box + "/cloned"


def worktree(project: Project, box: str) -> str:
    project.git("worktree", "add", "-q", box + "/linked")
    return box + "/linked"


def there_and_back(project: Project, box: str) -> str:
    project.git("switch", "-q", "conflict")
    assert trust(project.root) == {"mine": PENDING, "port": PENDING}
    project.git("switch", "-q", "main")
    return project.root


def merged(project: Project, box: str) -> str:
    """Save on a branch in a worktree, and merge it."""
    project.git("worktree", "add", "-q", "-b", "own", box + "/own")
    paths = Paths(box + "/own")
    lifecycle.save(paths, project_store(paths), data("Saved elsewhere"), approved=True)
    project.git("-C", box + "/own", "add", "-A")
    project.git("-C", box + "/own", "commit", "-q", "-m", "own")
    project.git("merge", "-q", "--no-ff", "-m", "merge", "own")
    return project.root


MOVES = {move.__name__: move for move in (renamed, copied, cloned, worktree, there_and_back, merged)}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES.keys())
def test_the_same_text_is_trusted_wherever_it_is(repository: Project, move: Callable[..., str]) -> None:
    found = trust(move(repository, os.path.dirname(repository.root)))
    assert set(found.values()) == {TRUSTED}
    assert "mine" in found


def test_a_conflict_resolved_to_the_user_s_own_text_is_trusted(repository: Project) -> None:
    paths = Paths(repository.root)
    lifecycle.edit(paths, memories(paths)["mine"], lambda _: {"title": "Ours"}, "edited", approved=True)
    commit(repository, "ours")
    assert repository.process(["git", "merge", "-q", "conflict"]).returncode == 1
    assert trust(repository.root) == {"port": PENDING}, "conflict marks make it no memory"
    repository.git("checkout", "-q", "--ours", ".claude/memory/decisions/mine.json")
    assert trust(repository.root) == {"mine": TRUSTED, "port": PENDING}


@pytest.mark.parametrize("status", [PENDING, REJECTED])
def test_forgetting_and_restoring_by_git_trusts_nothing(repository: Project, status: str) -> None:
    repository.git("merge", "-q", "theirs")
    paths = Paths(repository.root)
    port = memories(paths)["port"]
    if status == REJECTED:
        Trust(paths).reject(port)
    lifecycle.forget(paths, port, "", at_once=True, grace_days=30)
    repository.git("restore", ".")
    assert trust(repository.root) == {"mine": TRUSTED, "port": status}
    lifecycle.forget(paths, memories(paths)["port"], "", at_once=False, grace_days=30)
    repository.git("restore", ".")
    assert trust(repository.root) == {"mine": TRUSTED, "port": status}


@pytest.mark.parametrize("at_once", [True, False])
def test_a_forgotten_memory_that_git_brings_back_is_pending(repository: Project, at_once: bool) -> None:
    paths = Paths(repository.root)
    lifecycle.forget(paths, memories(paths)["mine"], "", at_once=at_once, grace_days=30)
    repository.git("restore", ".")
    assert trust(repository.root) == {"mine": PENDING}


@pytest.mark.parametrize("status", [PENDING, REJECTED])
def test_renaming_trusts_nothing(repository: Project, status: str) -> None:
    repository.git("merge", "-q", "theirs")
    paths = Paths(repository.root)
    if status == REJECTED:
        Trust(paths).reject(memories(paths)["port"])
    folder = os.path.join(repository.root, ".claude", "memory", "decisions")
    os.rename(folder + "/port.json", folder + "/other.json")
    assert trust(repository.root) == {"mine": TRUSTED, "other": status}


def test_no_git_runs_and_no_git_file_is_read_to_decide(
    repository: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = Paths(repository.root)
    opened: list[str] = []
    true = os.open

    def noted(path: str, *rest: int) -> int:
        opened.append(os.fspath(path))
        return true(path, *rest)

    monkeypatch.setattr(os, "open", noted)
    monkeypatch.setenv("PATH", "/nowhere")
    trust = Trust(paths)
    assert [trust.state_of(stored) for stored in memories(paths).values()] == [TRUSTED]
    assert opened
    assert not [path for path in opened if ".git" in path]
