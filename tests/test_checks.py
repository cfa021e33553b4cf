"""Commands that are checks, told from commands that only mention one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.plaintext import redacted
from holdfast.workflows import checks
from holdfast.workflows.checks import Check, check_in
from measured import cpu_of

# The command as it is typed, and as it is reported.
CHECKS = {
    "pytest": "pytest",
    "pytest -q tests/test_a.py::test_b": "pytest -q tests/test_a.py::test_b",
    "pytest -k 'a or b'": "pytest -k 'a or b'",
    ".venv/bin/pytest -x": ".venv/bin/pytest -x",
    "python -m pytest -q": "python -m pytest -q",
    "python3.11 -m unittest discover": "python3.11 -m unittest discover",
    "python -W error -m mypy src": "python -W error -m mypy src",
    "python -m coverage run -m pytest": "python -m coverage run -m pytest",
    "coverage run --branch -m pytest": "coverage run --branch -m pytest",
    "python manage.py test app": "python manage.py test app",
    "python scripts/run_tests.py": "python scripts/run_tests.py",
    "tox -e py311": "tox -e py311",
    "nox -s tests": "nox -s tests",
    "uv run pytest": "uv run pytest",
    "uv run --with rich -m pytest": "uv run --with rich -m pytest",
    "poetry run python -m pytest": "poetry run python -m pytest",
    "hatch run dev:test": "hatch run dev:test",
    "uvx ruff@0.5 check .": "uvx ruff@0.5 check .",
    "ruff check .": "ruff check .",
    "ruff format --check .": "ruff format --check .",
    "black --check src": "black --check src",
    "mypy --strict src": "mypy --strict src",
    "pyright": "pyright",
    "make test": "make test",
    "make -j4 -C sub check": "make -j4 -C sub check",
    "make lint": "make lint",
    "make unit-test": "make unit-test",
    "npm test": "npm test",
    "npm t": "npm t",
    "npm run test:unit -- --watch=false": "npm run test:unit -- --watch=false",
    "npm --prefix web run lint": "npm --prefix web run lint",
    "pnpm -r typecheck": "pnpm -r typecheck",
    "pnpm --filter web build": "pnpm --filter web build",
    "yarn jest src": "yarn jest src",
    "bun test": "bun test",
    "npx jest@29 --ci": "npx jest@29 --ci",
    "npx --yes vitest run": "npx --yes vitest run",
    "npx tsc --noEmit": "npx tsc --noEmit",
    "npx playwright test": "npx playwright test",
    "npx @biomejs/biome@1.9.0 check": "npx @biomejs/biome@1.9.0 check",
    "node --test": "node --test",
    "eslint src": "eslint src",
    "cargo test --all": "cargo test --all",
    "cargo +nightly clippy": "cargo +nightly clippy",
    "cargo build": "cargo build",
    "go test ./...": "go test ./...",
    "go vet ./...": "go vet ./...",
    "vendor/bin/phpunit": "vendor/bin/phpunit",
    "php artisan test": "php artisan test",
    "bundle exec rspec": "bundle exec rspec",
    "bin/rails test": "bin/rails test",
    "mvn -q verify": "mvn -q verify",
    "./gradlew :app:testDebugUnitTest": "./gradlew :app:testDebugUnitTest",
    "gradle build": "gradle build",
    "dotnet test": "dotnet test",
    "swift test": "swift test",
    "mix test": "mix test",
    "ctest -V": "ctest -V",
    "cmake --build build": "cmake --build build",
    "pre-commit run -a": "pre-commit run -a",
    "shellcheck run.sh": "shellcheck run.sh",
    "./run_tests.sh -v": "./run_tests.sh -v",
    "bash scripts/check.sh": "bash scripts/check.sh",
    "bin/test": "bin/test",
    "cd web; npm test": "cd web && npm test",
    "pytest -k 'a|b' 2> log": "pytest -k 'a|b'",
    "timeout -k 5 60 pytest": "timeout -k 5 60 pytest",
    "time pytest": "time pytest",
    "cd web && npm test": "cd web && npm test",
    "source .venv/bin/activate && pytest -q": "pytest -q",
    "ruff check . && mypy && pytest -q": "ruff check . && mypy && pytest -q",
    "pytest > log 2>&1": "pytest",
    "pytest \\\n  -q": "pytest -q",
    "# the tests\npytest": "pytest",
    "CI=1 pytest": "pytest",
    "env CI=1 pytest": "env CI=… pytest",
    "make -j4 -Otarget test": "make -j4 -Otarget test",
    "jest --passWithNoTests src": "jest --passWithNoTests src",
    "source .env && pytest": "pytest",
    ". ./env.sh; pytest": "pytest",
    "pytest --author me": "pytest --author me",
}

NO_CHECKS = [
    "",
    "cat > a.py <<'EOF'\nx = 1\nEOF\npytest -q",
    "bash -c pytest",
    "if pytest; then echo ok; fi",
    "make test ARGS=--collect-only",
    "npm test -- --listTests",
    "docker exec -it app pytest",
    "ls",
    "cat test.py",
    "cat tests/test_a.py | head",
    "grep -rn pytest .",
    "rg 'npm test' docs",
    "git commit -m 'fix tests'",
    'git commit -m "run pytest; make test"',
    "git commit -m \"$(cat <<'EOF'\nDon't run\npytest\nEOF\n)\"",
    "git checkout test",
    "git stash && git log",
    "echo pytest",
    "echo 'make test' >> README.md",
    "printf '%s' pytest",
    "test -f pytest.ini",
    "[ -d tests ] && ls tests",
    "which pytest",
    "command -v pytest",
    "type mypy",
    "pip install pytest mypy",
    "python -m pip install pytest",
    "python -c 'import pytest'",
    "python - <<'EOF'\nimport pytest\npytest.main()\nEOF",
    "cat <<EOF > run.sh\npytest\nmake test\nEOF",
    "npm install --save-dev jest",
    "npm ci",
    "npm run dev",
    "npm start",
    "yarn add vitest",
    "make",
    "make install",
    "make docs",
    "cargo run",
    "go run ./cmd/test",
    "ruff format .",
    "black src",
    "pre-commit install",
    "pytest --version",
    "mypy --help",
    "vim tests/test_a.py",
    "rm -rf .pytest_cache",
    "mkdir test",
    "cd tests",
    "pkill -f pytest",
    "sed -i s/a/b/ test.py",
    "./checkout.sh",
    "./latest.sh",
    "python app.py",
    "node server.js",
    "# pytest",
    "export RUNNER=pytest",
    "playwright install",
    "docker build -t test .",
    "tail -f pytest.log",
    "sleep 5; cat check.log",
    "uv sync && uv pip list",
    "pytest 'unbalanced",
    "pytest " + '"$(' * 3_000,
    "make -n test",
    "make --dry-run test",
    "pytest --collect-only -q",
    "pytest --co",
    "pytest --fixtures",
    "pytest -x -h",
    "python -m pytest --co",
    "cargo test --no-run",
    "cargo nextest list",
    "go test -list .",
    "npx jest --listTests",
    "vitest list",
]


@pytest.mark.parametrize("command", CHECKS)
def test_a_check_is_found_and_its_exit_status_counts(command: str) -> None:
    """By what the line runs."""
    assert check_in(command) == Check(CHECKS[command], tells=True)


@pytest.mark.parametrize("command", NO_CHECKS)
def test_what_only_mentions_a_check_is_none(command: str) -> None:
    """In a string, a file name, an argument, a here-document, a comment."""
    assert check_in(command) is None


@pytest.mark.parametrize(
    "command",
    [
        "pytest | tail",
        "pytest 2>&1 | tee log",
        "set -o pipefail; pytest | tail",
        "pytest || true",
        "(pytest) || true",
        "(cd web && npm test)",
        "pytest; echo done",
        'pytest; echo "exit: $?"',
        "pytest\nls",
        "mypy\npytest",
        "pytest &",
        "pytest & wait",
        "ruff check . | head && pytest",
        "set -e; pytest",
        "set -n; pytest",
        "trap 'exit 0' EXIT; pytest",
        "x=$(pytest)",
        "pytest $(git ls-files)",
        "git pull && pytest",
        "pytest && git push",
        "npm ci && npm test",
        "make -i test",
        "npm test --if-present",
        "ruff check --exit-zero",
        "python -m flake8 --exit-zero",
    ],
)
def test_where_the_result_is_unknown(command: str) -> None:
    """The check is there; the exit status may be another command's."""
    check = check_in(command)
    assert check is not None
    assert not check.tells


def test_only_the_checks_of_a_line_are_reported() -> None:
    """What else it runs may hold anything."""
    check = check_in("echo 'all my text' > a && ./deploy.sh hunter2 && pytest -q && git push")
    assert check == Check("pytest -q", tells=False)


@pytest.mark.parametrize(
    "command",
    [
        "env API_TOKEN=hush pytest",
        "env DB_URL=hush pytest",
        "make test PASSWORD=hush",
        "pytest --token=hush",
        "pytest --token hush",
        "pytest '--api-key=hush' -q",
        'pytest --password "hush hush"',
        "mvn test -Ddb.password=hush",
        "pytest -H 'Authorization: Bearer hush'",
        "pytest --header 'X-Api-Key: hush'",
        "pytest --db postgres://me:hush@localhost/db",
        "pytest --url 'http://localhost/?token=hush&a=1'",
        "npm test --//host.example/:_authToken=hush",
        "pytest sk-hushhushhushhush",
        "pytest ghp_hushhushhushhush",
        "pytest --password -hush",
        "pytest '--token hush'",
        "pytest --pass hush",
        "pytest --encryption-key=hush",
        "pytest --signing-key hush",
        "pytest --jwt hush",
        "pytest --user admin:hush",
        "pytest -u admin:hush",
        "pytest --user=admin:hush",
        "pytest --db=postgres://u:p@hush@host/db",
        "pytest --url 'https://x/?sig=hush'",
        "pytest --url 'https://x/?a=1&signature=hush'",
    ],
)
def test_no_secret_is_kept(command: str) -> None:
    """Values of assignments, and of options that are called like secrets."""
    check = check_in(command)
    assert check
    assert "hush" not in check.text
    assert "…" in check.text


def test_the_text_is_one_short_line() -> None:
    """However long the command."""
    check = check_in("pytest " + " ".join(f"tests/test_{n}.py" for n in range(200)))
    assert check
    assert len(check.text) == checks.TEXT_LIMIT
    assert check.text.endswith("…")
    assert check_in("pytest " + "x" * 200_000) is None


@pytest.mark.parametrize(
    "command",
    [
        "pytest " + "a" * 50_000,
        "pytest " + "eyJhbGci" * 6_000,
        "pytest " + "x-" * 20_000,
        "pytest " + "//a:" * 10_000,
        "make '" + "test-" * 12_000 + "\n'",
        "./" + "test-" * 12_000,
        "pytest&&" * 8_000,
        "pytest;" * 8_000,
        "pytest " + "''" * 40_000,
        "pytest " + "a " * 40_000,
        "(" * 50_000 + "pytest",
        "cat <<EOF\n" + "a\n" * 40_000 + "EOF\npytest",
        'pytest "$(' + "a" * 50_000 + ')"',
        "pytest " + "$(" * 20_000,
    ],
    ids=lambda command: command[:12],
)
def test_no_command_takes_long(command: str) -> None:
    """One long word took 16 s while the tool waited."""
    assert cpu_of(lambda: check_in(command), 0.25) < 0.25  # 0.05 where nothing else runs
    assert cpu_of(lambda: check_in(command[:3_999]), 0.25) < 0.25


@pytest.mark.parametrize(
    "secret",
    [
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_11ABCDEFG0abcdefghij",
        "sk-proj-abcdefghijklmnop1234",
        "xoxb-123456789012-abcdefghijkl",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "glpat-abcdefghijklmnopqrst",
        "password=hunter2",
        "password: hunter2",
        "--token hunter2",
        "https://me:hunter2@example.com/a",
    ],
)
def test_no_secret_is_left_in_a_text(secret: str) -> None:
    """Anywhere in a sentence."""
    shown = redacted(f"Replace {secret} in the docs")
    assert secret.rpartition(" ")[2].rpartition("=")[2] not in shown
    assert "hunter2" not in shown
    assert shown.startswith("Replace ")
    assert shown.endswith("in the docs")


@pytest.mark.parametrize(
    "text",
    [
        "Token: rotate it every day",
        "Write the auth middleware (phase 2: sessions)",
        "Move task-management-and-scheduling to src/tokenizer.py",
        "Add the secrets page, pass the keys on",
        "See http://localhost:8080/@scope/name",
    ],
)
def test_a_text_without_secrets_stays(text: str) -> None:
    """What only speaks of them."""
    assert redacted(text) == text


@given(st.text(alphabet="pytest make&|;()<>'\"\\$`{}#\n=-EOF!", max_size=60) | st.text(max_size=60))
def test_any_text_is_answered(command: str) -> None:
    """No command line breaks it."""
    check = check_in(command)
    assert check is None or "\n" not in check.text
