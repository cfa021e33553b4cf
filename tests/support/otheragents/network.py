"""A network in which there is nothing but the loopback interface, where this machine lets us have one.

Agents ask their makers for news, models and features. Here nobody answers them.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_GET_FLAGS, _SET_FLAGS = 0x8913, 0x8914
_UP = 1
# Nobody listens there. Who asks a proxy asks nobody else.
NOWHERE = "http://127.0.0.1:9"

T = TypeVar("T")


class Network:
    """`inside` runs something in it; `entered` makes a command line run in it."""

    def __init__(self, place: int | None) -> None:
        self._place = place  # an open file that stands for the network; it lives as long

    def inside(self, act: Callable[[], T]) -> T:
        """What a thread may do for itself alone: sockets that it makes there stay there."""
        if self._place is None:
            return act()
        return _in_a_thread(lambda: self._enter_and(act))

    def _enter_and(self, act: Callable[[], T]) -> T:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(self._place, _NEW_NETWORK) != 0:
            raise OSError(ctypes.get_errno(), "the network cannot be entered")
        return act()

    def entered(self, command: Sequence[str]) -> list[str]:
        if self._place is None:
            return list(command)
        place = f"/proc/{os.getpid()}/fd/{self._place}"
        return ["nsenter", f"--net={place}", "--", *command]


@cache
def private() -> Network:
    """The same one for all that this process starts. Without the rights for it, the machine's own."""
    try:
        return Network(_in_a_thread(_made))
    except OSError:
        return Network(None)


def environment() -> dict[str, str]:
    """For where the network is the machine's own: what asks for more than loopback finds nobody."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), NOWHERE)
    return {**proxies, "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}


def _made() -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_NETWORK) != 0:
        raise OSError(ctypes.get_errno(), "no network of our own")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asked = struct.pack("16sh", b"lo", 0)
        _, flags = struct.unpack("16sh", fcntl.ioctl(asking, _GET_FLAGS, asked))
        fcntl.ioctl(asking, _SET_FLAGS, struct.pack("16sh", b"lo", flags | _UP))
    return os.open(f"/proc/self/task/{threading.get_native_id()}/ns/net", os.O_RDONLY)


def _in_a_thread(act: Callable[[], T]) -> T:
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(act())
        except BaseException as error:  # noqa: BLE001 - raised again below, in the caller's thread
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]
