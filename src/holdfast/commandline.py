"""A program and its arguments as one line for a shell, and back, for clients that take nothing else.

On Windows the line is cmd's or PowerShell's, which has not been tried.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Sequence

_OF_WINDOWS = re.compile(r"(^|[\s'\"])[A-Za-z]:\\")
_PLAIN = re.compile(r"[\w\\/:.=-]+")


def joined(words: Sequence[str], windows_shell: str) -> str:
    """*words* as a line that starts them, whatever they hold."""
    if sys.platform != "win32":
        return shlex.join(words)
    if windows_shell == "cmd":
        return subprocess.list2cmdline(words)
    quoted = [each if _PLAIN.fullmatch(each) else _in_powershell(each) for each in words]
    # A name in quotes is a text there, until it is called.
    return ("& " if quoted[0] != words[0] else "") + " ".join(quoted)


def _in_powershell(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"


def split(line: str) -> list[str]:
    """The words of *line*, whoever wrote it."""
    posix = not _OF_WINDOWS.search(line)  # else a backslash stands for itself
    try:
        words = shlex.split(line.removeprefix("& "), posix=posix)
    except ValueError:
        return line.split()
    return words if posix else [re.sub(r"^(['\"])(.*)\1$", r"\2", word) for word in words]
