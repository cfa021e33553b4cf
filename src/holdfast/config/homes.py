"""Where the user's own files are, as far as the environment says. Light: every hook asks it first."""

from __future__ import annotations

import os
import sys

_LONGEST = 64  # letters of a session's id that is the name of its files

TYPE_CHECKING = False
if TYPE_CHECKING:  # as `typing` has it, which is not worth loading for that
    from collections.abc import Mapping


def home(environ: Mapping[str, str]) -> str | None:
    # Without HOME, expanduser asks the user database.
    found = environ.get("HOME") or os.path.expanduser("~")
    return found if os.path.isabs(found) else None


def for_state(environ: Mapping[str, str]) -> str | None:
    """For logs and records of sessions; None without a home."""
    return _user_folder(environ, "XDG_STATE_HOME", ".local/state", "LOCALAPPDATA")


def for_settings(environ: Mapping[str, str]) -> str | None:
    return _user_folder(environ, "XDG_CONFIG_HOME", ".config", "APPDATA")


def _user_folder(environ: Mapping[str, str], xdg: str, unix: str, windows: str) -> str | None:
    # By hand: importing platformdirs costs 0.7 of a bare interpreter's start, on every hook.
    chosen = environ.get(xdg, "")
    if os.path.isabs(chosen):
        return os.path.join(chosen, "holdfast")
    if sys.platform == "win32":
        return below(environ.get(windows) or None, "holdfast")
    inside = "Library/Application Support" if sys.platform == "darwin" else unix
    return below(below(home(environ), inside), "holdfast")


def below(folder: str | None, name: str) -> str | None:
    return os.path.join(folder, name) if folder else None


def is_switched_off(environ: Mapping[str, str]) -> bool:
    """Whether hooks and the status line are to do nothing at all."""
    return environ.get("HOLDFAST_DISABLE", "") not in {"", "0", "false", "no"}


def file_of(state_dir: str, kind: str, session: str, suffix: str) -> str:
    """Where the user's folder keeps what is of that *kind* and belongs to *session*."""
    return os.path.join(state_dir, kind, f"{_name(session)}.{suffix}")


def _name(session: str) -> str:
    """The id itself where any file can be called that, on any system; clients use UUIDs."""
    plain = session.replace("-", "")
    if plain.isascii() and plain.isalnum() and plain == plain.lower() and len(session) <= _LONGEST:
        return session
    from holdfast.files.fingerprints import digest  # noqa: PLC0415  # seldom needed

    return f"_{digest(session.encode('utf-8', 'replace'))[:24]}"
