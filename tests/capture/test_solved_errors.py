"""Solved errors: a command failed, the surroundings changed, it passed; not the daily loop of testing and editing."""

from __future__ import annotations

import re

import pytest

from memory_plugin.capture.solved_errors import ErrorWatch, SolvedError, explains_itself
from memory_plugin.kernel.paths import load_data
from memory_plugin.kernel.transcript.turn import Call, Turn

TABLE = load_data("capture", "errors")
MISSING = "Exit code 1\nError: Cannot find module 'bullmq'"
# "fail" or "pass", "edit" or "write", then the command and its output, or the file and a new line.
Step = tuple[str, str, str]


def watched(*steps: Step) -> list[SolvedError]:
    """Return what is solved in a session of these steps, one call a turn."""
    watch = ErrorWatch()
    found: list[SolvedError] = []
    for number, (what, text, output) in enumerate(steps, 1):
        turn = Turn(number)
        inputs = {
            "edit": {"file_path": text, "old_string": "a\nb", "new_string": "a\n" + output},
            "write": {"file_path": text, "content": output},
        }
        given = dict(inputs.get(what, {"command": text}))
        call = Call(str(number), what.capitalize() if what in inputs else "Bash", given, number)
        call.result, call.failed, call.details = output, what == "fail", {"originalFile": "a\nb"}
        turn.calls.append(call)
        found += watch.solved(turn)
    return found


@pytest.mark.parametrize("name", [name for name, entry in TABLE.items() if "hit" in entry])
def test_patterns_match_their_examples(name: str) -> None:
    entry = TABLE[name]
    pattern = re.compile(entry["pattern"], re.IGNORECASE | re.MULTILINE)
    assert [text for text in entry["hit"] if not pattern.search(text)] == []
    assert [text for text in entry["miss"] if pattern.search(text)] == []


@pytest.mark.parametrize("entry", TABLE["generic"]["patterns"], ids=lambda entry: str(entry["id"]))
def test_generic_errors_match_their_examples(entry: dict[str, list[str]]) -> None:
    pattern = re.compile(str(entry["pattern"]), re.IGNORECASE | re.MULTILINE)
    assert [text for text in entry["hit"] if not pattern.search(text)] == []
    assert [text for text in entry["hit"] if not explains_itself(text)] == []
    assert [text for text in entry["miss"] if pattern.search(text)] == []
    assert [text for text in entry["miss"] if explains_itself(text)] == []


def test_an_install_between_failure_and_pass_makes_a_runbook() -> None:
    (found,) = watched(
        ("fail", "npm run dev", MISSING),
        ("pass", "npm install bullmq", "added 1"),
        ("pass", "npm run dev 2>&1", "ready"),
    )
    assert found.title == "`npm run dev` fails: Error: Cannot find module 'bullmq'"
    assert (found.failed, found.changes) == (1, ("ran `npm install bullmq`",))
    assert found.body.splitlines()[-1] == "`npm run dev 2>&1` passes then."


def test_a_task_runner_that_only_checks_changes_nothing() -> None:
    assert not watched(
        ("fail", "mise run fmt && mise run lint", "Exit code 1\nview.go:9:4: missing cases in switch"),
        ("edit", "view.go", ""),
        ("pass", "mise run lint", "ok"),
        ("pass", "mise run fmt && mise run lint", "ok"),
    )


def test_a_configuration_change_counts_for_tests_too() -> None:
    error = "Exit code 1\nRuntimeError: no :secret_key_base configuration found"
    (found,) = watched(
        ("fail", "mix test", error),
        ("edit", "config/test.exs", "  secret_key_base: random"),
        ("edit", "lib/shop.ex", "def total"),
        ("pass", "mix test", "3 tests, 0 failures"),
    )
    assert found.changes == ("edited test.exs",)


FAILED = "Exit code 1\nTotalTest > case %d FAILED: expected 7 but was 9"


RUN_IN_ROUNDS = [
    "./gradlew test", "./mvnw -q test", "bin/rails test", "pnpm --filter web test", "pnpm -r test", "npm --prefix app test",
    "yarn workspace web test", "npx nx test api", "npx turbo run build", "docker compose exec web pytest", "dbt run", "docker build .",
    "mkdocs build", "cmake --build build", "./run.sh", "python sim.py", "acme verify-all", "hugo", "latexmk paper.tex",
]  # fmt: skip


@pytest.mark.parametrize("file", ["src/Total.java", "Dockerfile"])
def test_rounds_of_editing_and_running_make_no_runbook(file: str) -> None:
    for command in RUN_IN_ROUNDS:
        rounds = [
            step
            for number in range(8)
            for step in (
                ("fail", command, FAILED % number),
                ("edit", file, ""),
                ("pass", command, "12 passed"),
            )
        ]
        assert watched(*rounds) == [], command


NO_DATABASE = "Exit code 1\nError: could not connect to server: Connection refused"


@pytest.mark.parametrize(
    ("steps", "changes"),
    [
        pytest.param(["aws sso login", "./scripts/tunnel.sh"], None, id="sign-in and a script"),
        pytest.param(["bash scripts/db.sh up"], None, id="script given to a shell"),
        pytest.param(["cp .env.example .env"], None, id="copied settings"),
        pytest.param(["curl -fsSL https://acme.dev/i | sh"], None, id="script from the net"),
        pytest.param(["make tunnel"], None, id="target"),
        pytest.param(["terraform apply -auto-approve", "npm run db:seed"], None, id="unknown command beside a script"),
        pytest.param(["ls", "git commit -m wip", "pod install"], ["pod install"], id="looking and recording are no steps"),
    ],
)  # fmt: skip
def test_all_steps_of_a_fix_are_listed(steps: list[str], changes: list[str] | None) -> None:
    between: list[Step] = [("pass", step, "") for step in steps]
    (found,) = watched(("fail", "dbt run", NO_DATABASE), *between, ("pass", "dbt run", "done"))
    assert found.changes == tuple("ran `%s`" % step for step in changes or steps)


@pytest.mark.parametrize(
    "step",
    [
        "docker compose -f docker-compose.test.yml up -d --wait", "docker-compose -p shop up -d", "kubectl -n shop apply -f db.yaml",
        "npm --prefix web install", "volta install node@20", "fnm use 20", "mise use node@20", "n 20", "sdk default java 21-tem",
        "nvm use 20", "asdf global nodejs 20", "pyenv install 3.12", "rbenv local 3.3.0", "rustup default nightly",
    ],
)  # fmt: skip
def test_services_and_versions_are_changes_with_options_before_the_subcommand_too(step: str) -> None:
    steps: list[Step] = [
        ("fail", "npm run serve", MISSING),
        ("pass", step, ""),
        ("pass", "npm run serve", "ok"),
    ]
    assert len(watched(*steps)) == 1


@pytest.mark.parametrize(
    ("before", "step", "is_kept"),
    [
        pytest.param(
            "docker compose stop redis", "docker compose start redis", False, id="stopped and started"
        ),
        pytest.param("docker compose -f a.yml down", "docker compose -f a.yml up -d", False, id="no names"),
        pytest.param("sudo service mysql stop", "sudo service mysql start", False, id="name before the verb"),
        pytest.param("rm .env", "cp .env.example .env", False, id="removed file"),
        pytest.param("unset API_KEY", "export API_KEY=x", False, id="variable"),
        pytest.param("docker compose stop worker", "docker compose up -d db", True, id="another service"),
        pytest.param("docker compose restart db", "docker compose restart db", True, id="nothing stopped"),
    ],
)
def test_a_failure_on_purpose_makes_no_runbook(before: str, step: str, is_kept: bool) -> None:
    steps: list[Step] = [("pass", before, ""), ("fail", "dbt run", NO_DATABASE), ("pass", step, "")]
    assert bool(watched(*steps, ("pass", "dbt run", "done"))) is is_kept


def test_what_was_stopped_and_started_again_explains_no_later_failure() -> None:
    before: list[Step] = [("pass", "docker compose down", ""), ("pass", "docker compose up -d", "")]
    after: list[Step] = [("pass", "docker compose restart db", ""), ("pass", "dbt run", "done")]
    assert len(watched(*before, ("fail", "dbt run", NO_DATABASE), *after)) == 1


@pytest.mark.parametrize(
    ("file", "line", "change"),
    [
        pytest.param("package.json", '"type": "module",', 'in package.json: "type": "module",', id="put in"),
        pytest.param("a/tsconfig.json", "", "removed from tsconfig.json: b", id="taken out"),
        pytest.param(".env.local", "KEY=value", "edited .env.local", id="may be secret"),
        pytest.param(
            "a/tsconfig.json", "client_secret: hoot", "edited tsconfig.json", id="a secret in other settings"
        ),
    ],
)
def test_a_change_of_configuration_is_quoted(file: str, line: str, change: str) -> None:
    (found,) = watched(
        ("fail", "npm run dev", MISSING), ("edit", file, line), ("pass", "npm run dev", "ready")
    )
    assert found.changes == (change,)


@pytest.mark.parametrize(
    ("failed", "passed"),
    [
        pytest.param("npm run dev", "source env/bin/activate && npm run dev", id="an activation"),
        pytest.param("npm run dev", "NODE_PATH=/opt/lib npm run dev", id="a variable"),
        pytest.param("npm run dev", "export NODE_PATH=/opt/lib && npm run dev", id="an exported variable"),
        pytest.param("acme sync", "/opt/acme/bin/acme sync", id="the path of the program"),
        pytest.param("npm run dev", "npm run dev --workspaces=false", id="an option"),
    ],
)
def test_what_another_line_adds_is_a_change(failed: str, passed: str) -> None:
    steps = [("fail", failed, MISSING), ("pass", "npx acme try", ""), ("pass", passed, "ready")]
    (found,) = watched(*((what, "cd app && " + text, output) for what, text, output in steps))
    assert found.changes == ("ran `%s` instead" % passed,)


@pytest.mark.parametrize(
    ("failed", "error", "steps", "passed"),
    [
        pytest.param("npm run dev", MISSING, ["brew --version"], "npm run dev", id="a version"),
        pytest.param("npm run dev", MISSING, ["git config --get core.editor"], "npm run dev", id="a setting that is read"),
        pytest.param("npm run dev", MISSING, ["source a/activate && pip list"], "npm run dev", id="an activation for another line"),
        pytest.param("npm run dev", MISSING, ["npm install x"], "npm run dev || echo no", id="a result that is hidden"),
        pytest.param("npm run dev", MISSING, ["npm install x"], "npm run dev &", id="a result in the background"),
        pytest.param("npm run dev", MISSING, ["npm install x", "fail npm run dev"], "npm run dev", id="a change that did not help"),
        pytest.param("npm test", MISSING, ["edit a.ts"], "npm test --silent", id="other options after the code changed"),
        pytest.param("git push", "Error: could not connect", [], "git push --force", id="a push by force"),
        pytest.param("npm run dev", MISSING, ["./app/bin/py -c 'import x'"], "npm run dev", id="a question to an interpreter"),
        pytest.param("$RUN dev", MISSING, ["npm install x"], "$RUN dev", id="a program that is a variable"),
        pytest.param("./sync.sh", MISSING, ["chmod +x a.sh", "edit sync.sh"], "./sync.sh", id="a script that was edited"),
        pytest.param("acme sync", "Error: invalid literal", ["mkdir out"], "acme sync", id="a folder for a slip"),
        pytest.param("acme sync", "Error: invalid literal", ["./a.sh"], "acme sync", id="a script for a slip"),
        pytest.param("acme list", "Error: no such table", ["make up"], "acme list", id="a list of what came later"),
        pytest.param("git commit -m x", "hooks: acme: not found", [], "git commit --no-verify -m x", id="a check that is left out"),
        pytest.param("python - <<E\n1\nE", MISSING, [], "python -q - <<E\n2\nE", id="another program"),
        pytest.param("cat > a.ts <<E\n1\nE\nnpx acme a.ts", MISSING, [], "python3 - <<E\n2\nE\nnpx acme a.ts", id="another script"),
        pytest.param("npm run dev", MISSING, ["edit lib/bullmq.ts", "make up"], "npm run dev", id="what was missing was written"),
        pytest.param("bun install", "error: could not connect", ["make up"], "bun install -g acme", id="one package of all"),
        pytest.param("acme --check", MISSING, ["systemctl start acme"], "acme dump a", id="another subcommand"),
        pytest.param("npx acme; ls out", MISSING, ["npm install x"], "npx acme; ls out", id="a look that decided the exit code"),
        pytest.param("acme dev", MISSING + "\nPlease run: npm i bullmq", ["npm i bullmq"], "acme dev", id="an error with its remedy"),
        pytest.param("npm run dev", "something went by", ["npm install x"], "npm run dev", id="no line says what is wrong"),
    ],
)  # fmt: skip
def test_what_explains_no_fix_makes_no_runbook(
    failed: str, error: str, steps: list[str], passed: str
) -> None:
    outputs = {"edit": "x", "fail": error}
    parts = ((*step.partition(" "), step) for step in steps)
    between: list[Step] = [
        (what, rest, outputs[what]) if what in outputs else ("pass", step, "")
        for what, _, rest, step in parts
    ]
    assert watched(("fail", failed, error), *between, ("pass", passed, "done")) == []


@pytest.mark.parametrize(
    ("later", "output"),
    [
        pytest.param('cmd.exe /c "acme sync"', "Microsoft Windows [Versi\u00f3n 10.0]\n\nC:\\work>", id="only opened a prompt"),
        pytest.param('cmd.exe /c "acme sync"', "\0".join("Microsoft Windows [Version 10.0]"), id="the same in UTF-16"),
        pytest.param("/opt/acme sync", "What do you want to sync?", id="asks back"),
        pytest.param("/opt/acme sync", "Command running in background with ID: b1", id="goes on in the background"),
        pytest.param("/opt/acme sync --help", "usage: acme", id="only tells how"),
    ],
)  # fmt: skip
def test_a_call_that_did_no_work_solves_nothing(later: str, output: str) -> None:
    assert watched(("fail", "acme sync", "acme: command not found"), ("pass", later, output)) == []


@pytest.mark.parametrize(
    "vain",
    [
        pytest.param(("fail", "npm run dev", MISSING), id="the same command"),
        pytest.param(("pass", "npm run dev | tail", MISSING), id="a pipe hides the exit code"),
        pytest.param(("fail", "npm run dev --open", MISSING), id="with an option"),
    ],
)
def test_what_changed_before_the_same_error_came_again_is_not_listed(vain: Step) -> None:
    cleaned, installed = (("pass", "npm " + text, "") for text in ("cache clean", "install bullmq"))
    (found,) = watched(
        ("fail", "npm run dev", MISSING), cleaned, vain, installed, ("pass", "npm run dev", "ready")
    )
    assert found.changes == ("ran `npm install bullmq`",)


LOOKS = "git ls-remote origin,ssh -T git@a.org,npm root -g,where acme,cygpath -w /a,gpg -d key > unread.gpg"


@pytest.mark.parametrize("look", LOOKS.split(","))
def test_a_look_or_a_file_that_nothing_reads_is_no_change(look: str) -> None:
    passed: list[Step] = [("pass", command, "") for command in (look, "npm i x", "npm run dev")]
    (found,) = watched(("fail", "npm run dev", MISSING), *passed)
    assert found.changes == ("ran `npm i x`",)


def test_of_a_file_written_anew_only_new_lines_are_quoted() -> None:
    (found,) = watched(
        ("fail", "dbt run", NO_DATABASE), ("write", "build.gradle", "a\nc"), ("pass", "dbt run", "")
    )
    assert found.changes == ("in build.gradle: c",)


def test_leaving_out_what_fails_solves_nothing() -> None:
    failed = ("fail", "npx tsc --noEmit", "a.ts(1,2): error TS2307: Cannot find module './b'")
    for line, is_solved in (('"exclude": ["a.ts"]', False), ('"paths": {"./b": ["lib/b"]}', True)):
        found = watched(failed, ("edit", "tsconfig.json", line), ("pass", "npx tsc --noEmit", ""))
        assert bool(found) is is_solved


def test_removed_files_solve_an_error_about_files() -> None:
    error = " 1. [ ] magic (requires a key)\nError copying /opt/a.md to /home/a.md: Permission denied"
    (found,) = watched(
        ("fail", "acme install", error), ("pass", "rm -f /home/a.md", ""), ("pass", "acme install", "done")
    )
    assert found.changes == ("ran `rm -f /home/a.md`",)
    assert found.symptom == ("Error copying /opt/a.md to /home/a.md: Permission denied",)  # none of the menu


def test_the_line_about_the_surroundings_is_the_title() -> None:
    decoration = "=== ERRORS ===\n#9 0.714 npm warn old\n\x1b[91mnpm warn\x1b[0m older\n"
    error = decoration + "error: 1 problem in C:\\a\\new.py\nModuleNotFoundError: No module named 'yaml'"
    (found,) = watched(
        ("fail", "acme sync", error), ("pass", "pip install pyyaml", ""), ("pass", "acme sync", "")
    )
    assert found.symptom == tuple(reversed(error.splitlines()[-2:]))
    assert found.title == "`acme sync` fails: ModuleNotFoundError: No module named 'yaml'"


def test_a_fix_of_too_many_steps_makes_no_runbook() -> None:
    between: list[Step] = [("pass", "./scripts/step%d.sh" % number, "") for number in range(7)]
    assert watched(("fail", "dbt run", NO_DATABASE), *between, ("pass", "dbt run", "done")) == []


def test_these_steps_make_no_runbook() -> None:
    cases = [
        [
            ("fail", "pytest", "Exit code 1\nE assert 3 == 4"),
            ("edit", "src/a.py", ""),
            ("pass", "pytest", "1 passed"),
        ],  # test, edit, test
        [
            ("fail", "golangci-lint run", "Exit code 1\nFile is not properly formatted"),
            ("pass", "gofmt -w a.go", ""),
            ("pass", "golangci-lint run", "0 issues."),
        ],  # lint, format, lint
        [
            ("fail", "git push", "Exit code 128\nfatal: The current branch x has no upstream branch."),
            ("pass", "git push --set-upstream origin x", "done"),
        ],  # git says what to type
        [
            ("fail", "ls docs", "Exit code 1\nls: docs: No such file"),
            ("pass", "mkdir docs", ""),
            ("pass", "ls docs", ""),
        ],  # looking
        [("fail", "npm run dev", MISSING), ("pass", "npm run dev", "ready")],  # nothing changed
        [
            ("fail", "npm run dev", MISSING),
            ("pass", "npm install bullmq", ""),
            ("pass", "npm run dev | head", "Error: Cannot find module 'bullmq'\nnpm ERR! 1"),
        ],  # a pipe hides that it fails still
        [
            ("fail", "npm run dev", "The user doesn't want to proceed with this tool use."),
            ("pass", "npm install x", ""),
            ("pass", "npm run dev", "ready"),
        ],  # refused by the user
        [
            ("fail", "npm run dev", MISSING),
            ("pass", "npm install bullmq", ""),
            ("pass", "npm run build", "ok"),
        ],  # another command
    ]
    assert [steps for steps in cases if watched(*steps) != []] == []


def test_each_of_two_errors_in_a_row_has_its_own_changes() -> None:
    found = watched(
        ("fail", "npm run dev", MISSING),
        ("pass", "npm install bullmq", ""),
        ("fail", "npm run dev", "Error: connect ECONNREFUSED 127.0.0.1:6379"),
        ("pass", "docker compose up -d redis", ""),
        ("pass", "npm run dev", "ready"),
    )
    assert [error.changes for error in found] == [
        ("ran `npm install bullmq`",),
        ("ran `docker compose up -d redis`",),
    ]


def test_a_line_below_the_same_errors_does_not_make_them_one() -> None:
    below = "\nfatal: could not read from remote"
    found = watched(
        ("fail", "git push", "Error: Host key verification failed" + below),
        ("pass", "ssh-keyscan example.org", ""),
        ("fail", "git push", "Error: permission denied" + below),
        ("pass", "ssh-add key", ""),
        ("pass", "git push", "done"),
    )
    assert [error.changes for error in found] == [
        ("ran `ssh-keyscan example.org`",),
        ("ran `ssh-add key`",),
    ]


def test_hostile_output_takes_linear_time() -> None:
    for text in ("error " * 50_000, "\n" * 100_000, "(" * 100_000, "no " * 60_000):
        watched(("fail", "npm run dev", text), ("pass", "npm i x", ""), ("pass", "npm run dev", text))
