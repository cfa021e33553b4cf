"""A hook for the contract tests: it notes what it was given, and says what a test has prepared.

Started as `python -I -S probe.py LOG NAME [REPLY]`. Standard library only.
"""

import json
import os
import sys
import time


def main(log: str, name: str, reply: str = "") -> int:
    raw = sys.stdin.read()
    noted = {
        "name": name,
        "at": time.time(),
        "payload": json.loads(raw) if raw else {},
        # The environment holds a session token in newer versions, which nobody may keep.
        "env": {
            key: value
            for key, value in os.environ.items()
            if key == "COLUMNS" or (key.startswith("CLAUDE") and "TOKEN" not in key)
        },
    }
    # One write to a file that is opened for appending: hooks of one event run at the same time.
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, json.dumps(noted).encode() + b"\n")
    os.close(file)
    if not reply:
        return 0
    with open(reply, encoding="utf-8") as prepared:
        said = json.load(prepared)
    sys.stdout.write(said["stdout"])
    sys.stderr.write(said["stderr"])
    return int(said["status"])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
