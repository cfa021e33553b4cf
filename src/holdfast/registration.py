"""What Claude Code's settings register: every event that has a handler, and the parts of reading.

`python -m holdfast.registration` prints it; settings.example.json and hooks/hooks.json are its output.
"""

from __future__ import annotations

import json

from holdfast.settings import Settings
from holdfast.wire.events import NOTED, WRITES

_WRITING = "|".join(WRITES)
_OBSERVED = "|".join([*WRITES, *NOTED])


def hooks(command: str = "holdfast", parts: int = Settings().parts) -> dict[str, object]:
    """The value of "hooks" in a settings file."""

    def run(*arguments: str, beside: bool = False) -> dict[str, object]:
        entry: dict[str, object] = {
            "type": "command",
            "command": command,
            "args": ["hook", *arguments],
            "timeout": 30,
        }
        # What only takes note runs beside the conversation and costs the person nothing.
        return {**entry, "async": True} if beside else entry

    def on(matcher: str, *entries: dict[str, object]) -> dict[str, object]:
        return {"matcher": matcher, "hooks": list(entries)} if matcher else {"hooks": list(entries)}

    beside = run(beside=True)
    return {
        "PreCompact": [on("", run())],
        "SessionStart": [
            on("", run()),
            # The client merges identical commands into one run; these differ in their part.
            on(
                "compact|resume|fork",
                *(run("--part", str(number)) for number in range(1, parts + 1)),
            ),
        ],
        # Waited for: run beside, it would be cut off where the client ends right after.
        "PostCompact": [on("", run())],
        "PreToolUse": [on(_WRITING, run())],
        # Read is waited for, so that the gate knows of it before the next call.
        "PostToolUse": [on("Read", run()), on(_OBSERVED, beside)],
        "PostToolUseFailure": [on("Bash", beside)],
        "TaskCreated": [on("", beside)],
        "TaskCompleted": [on("", beside)],
        "SubagentStart": [on("", beside)],
        "SubagentStop": [on("", beside)],
        "FileChanged": [on("", beside)],
    }


def text() -> str:
    """The settings file as it is written."""
    written = json.dumps({"hooks": hooks()}, indent=2)
    return written + "\n"


if __name__ == "__main__":
    print(text(), end="")  # noqa: T201  # what it is for
