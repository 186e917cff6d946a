"""Become another program: `launch.py SIGNAL PARENT UID GID REACH PROGRAM ARGUMENT…`.

Run as a script between fork and exec, so that no Python runs in a forked copy of a process with threads. On
Linux the program gets SIGNAL when its parent ends. With a UID other than -1 it first becomes that user; REACH
1 lets it pass by file permissions all the same (the one capability CAP_DAC_OVERRIDE), for a checkout below a
home that others can't enter. The process id stays the same all along.
"""

from __future__ import annotations

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1
PR_SET_SECUREBITS = 28
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
SECBIT_NO_SETUID_FIXUP = 1 << 2
CAP_DAC_OVERRIDE = 1
CAPABILITY_VERSION_3 = 0x20080522


def main(arguments: list[str]) -> None:
    """Switch the user if asked, tie the process to its parent, and become the program."""
    signal_number, parent, uid, gid, reach = (int(argument) for argument in arguments[:5])
    command = arguments[5:]
    if uid >= 0:
        try:
            become(uid, gid, reach=bool(reach))
        except OSError as error:
            raise SystemExit(f"can't become user {uid} here ({error}): run as an ordinary user") from error
    if sys.platform == "linux":
        call("prctl", PR_SET_PDEATHSIG, signal_number, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the line above
        raise SystemExit("the parent has ended")
    os.execv(command[0], command)  # noqa: S606 - no shell is what we want


def become(uid: int, gid: int, *, reach: bool) -> None:
    """Give up root for `uid`, keeping CAP_DAC_OVERRIDE over the exec when `reach`."""
    if reach:
        # Keeps what we have over setuid, and lets access(2) count it, by which Postgres finds its programs.
        call("prctl", PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0)
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    if reach:
        mask = 1 << CAP_DAC_OVERRIDE
        header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
        call("capset", header, (ctypes.c_uint32 * 6)(mask, mask, mask, 0, 0, 0))
        call("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0, 0)


def call(function: str, *arguments: object) -> None:
    """Call the C library, and raise the error it sets."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, function)(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{function}: {os.strerror(error)}")


if __name__ == "__main__":
    main(sys.argv[1:])
