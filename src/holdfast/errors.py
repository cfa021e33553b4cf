"""Every error that Holdfast raises on purpose, each with its data as fields."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # the fast tier loads this module, and `typing` is not worth it
    from os import PathLike
    from typing import TypeAlias

AnyPath: TypeAlias = "str | PathLike[str]"


class HoldfastError(Exception):
    """A cause, and where it helps, a next step. The command line prints both; hooks log them."""

    exit_code = 1  # a command's exit code for this error

    def __init__(self, cause: str, *, hint: str = "") -> None:
        super().__init__(cause)
        self.cause = cause
        self.hint = hint


class BadHookInput(HoldfastError):
    """Stdin held no hook event that can be read."""


class _FileError(HoldfastError):
    """A problem with a file."""

    said = "{path}: {reason}"
    advice = ""

    def __init__(self, path: AnyPath, reason: str = "") -> None:
        words = {"path": path, "reason": reason}
        super().__init__(self.said.format(**words), hint=self.advice.format(**words))
        self.path = path
        self.reason = reason


class SettingsInvalid(_FileError):
    """A settings file is wrong; the defaults apply."""

    advice = "Correct the file; until then the defaults apply."


class StateUnreadable(_FileError):
    """A state file cannot be read as its format."""

    advice = "See what is wrong: holdfast inspect {path}"


class StateOutOfReach(StateUnreadable):
    """The system denied access to a file, which may be intact: it is left in place."""

    advice = "It was left as it is. Check its owner and the disk: ls -ld {path}"


class StateLocked(HoldfastError):
    """Another process held the lock for the whole wait."""

    def __init__(self, path: AnyPath, waited: float) -> None:
        super().__init__(
            f"{path} was held by another process for {waited:g} s",
            hint="Nothing was changed. Try again; if this persists, look for a process that hangs.",
        )


class StateUnwritable(_FileError):
    """The state could not be written; what was there before is untouched."""

    said = "{path} could not be written: {reason}"


class StateChanged(_FileError):
    """Another process wrote a state file between our read and our write; its version stands."""

    said = "{path} was changed by another process just now"
    advice = "Nothing was changed by this command. Run it again."


class GitRefused(HoldfastError):
    """git did not do what it was asked to."""

    def __init__(self, command: str, said: str) -> None:
        super().__init__(f"git {command} refused: {said}")


class NewerRecord(HoldfastError):
    """A record written by a newer Holdfast, which is not changed."""


class NoSuchWorkflow(HoldfastError):
    """A name that no workflow here has, or no workflow at all."""


class IllegalMove(HoldfastError):
    """A command that the workflow's present state does not allow."""


class DefinitionInvalid(HoldfastError):
    """A workflow definition file is invalid."""

    def __init__(self, path: AnyPath, problems: tuple[str, ...]) -> None:
        listed = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(f"{path} does not define a workflow:{listed}", hint="Correct the file.")
        self.path = path
        self.problems = problems
