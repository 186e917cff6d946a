"""What belongs to the process as a whole: its outlets and open runs, its forks, its SIGTERM and its exit."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from types import FrameType
from typing import Any, Protocol

from watchline.schemas.failpoints import failpoint
from watchline.sdk.harmless import harmless, say
from watchline.sdk.message import Counters
from watchline.sdk.outlet import Outlet

THREADS_START_AT_EXIT = sys.version_info < (3, 12)  # later none starts once the main thread has ended
_SIGTERM_IN_CONTAINER = 1  # the kernel ignores a default SIGTERM for process 1, so there is nothing to put back


class Abortable(Protocol):
    """An open run that ends with its process."""

    def abort(self, reason: str) -> None: ...


class Process:
    """The one of this module; a fork renews it."""

    def __init__(self) -> None:
        self._outlets: dict[Outlet, float] = {}
        self._open: dict[Abortable, None] = {}
        self._accounts: dict[Outlet, Counters] = {}
        self._armed = False
        self._pid = os.getpid()
        # For a first event that comes when it is too late to register. Any other registers once more, to be called
        # sooner: a handler of the job's in between may end the process.
        atexit.register(self._leave)
        self._heard = not is_leaving() or threading.current_thread() is not threading.main_thread()

    def adopt(self, outlet: Outlet, *, flush_seconds: float, handle_sigterm: bool) -> None:
        """Close the outlet when the process ends, and let it start anew in a child."""
        self._outlets[outlet] = flush_seconds
        if not self._armed:
            self._armed = True
            atexit.register(self._exit)
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(
                    before=self._before_fork,
                    after_in_parent=self._after_fork_in_parent,
                    after_in_child=self._after_fork,
                )
            if is_worker():
                _finish_with_worker(self)
        if handle_sigterm:
            self._handle_sigterm()
        if is_leaving() and not (THREADS_START_AT_EXIT and self._heard):
            close_for_good(outlet, 0.0)  # neither threads nor handlers can begin

    def opened(self, run: Abortable) -> None:
        """A run that has to be ended when the process is terminated."""
        self._open[run] = None

    def closed(self, run: Abortable) -> None:
        """The run has ended."""
        self._open.pop(run, None)

    def finish(self) -> None:
        """Deliver or store what is pending; all outlets share the longest budget of one."""
        deadline = time.monotonic() + max(self._outlets.values(), default=0.0)
        for outlet in list(self._outlets):
            with harmless("flushing at exit"):
                close_for_good(outlet, max(0.0, deadline - time.monotonic()))
                self._say_account(outlet)

    def _say_account(self, outlet: Outlet) -> None:
        """Once: a worker of multiprocessing comes here by its finaliser and by atexit."""
        account = outlet.counters()
        if self._accounts.get(outlet) != account:
            self._accounts[outlet] = account
            say_account(account)

    def _exit(self) -> None:
        with harmless("a failpoint at exit"):
            failpoint("S5")  # what is pending is sent or put on disk
        self._leave()

    def _leave(self) -> None:
        self.finish()
        if self._outlets and getattr(sys, "last_type", None) is KeyboardInterrupt and not hasattr(sys, "ps1"):
            keep_interrupt()

    def _before_fork(self) -> None:
        self._tell("before_fork")

    def _after_fork_in_parent(self) -> None:
        self._tell("after_fork_in_parent")

    def _tell(self, name: str) -> None:
        """Call what an outlet has to do about a fork, if it has anything."""
        for outlet in list(self._outlets):
            with harmless("forking"):
                getattr(outlet, name, do_nothing)()

    def _after_fork(self) -> None:
        """In a child: runs and messages that the parent began stay the parent's."""
        self._open = {}
        self._pid = os.getpid()
        self._tell("after_fork")
        if "multiprocessing.util" in sys.modules:
            # Whoever forks a worker clears its finalisers after this hook.
            sys.modules["multiprocessing.util"].register_after_fork(self, _finish_with_worker)

    def _handle_sigterm(self) -> None:
        """Report on SIGTERM, but never in place of a handler of the job's, nor from another thread."""
        with harmless("handling SIGTERM"):
            in_main = threading.current_thread() is threading.main_thread()
            if in_main and self._pid != _SIGTERM_IN_CONTAINER and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
                signal.signal(signal.SIGTERM, self._on_sigterm)

    def _on_sigterm(self, signum: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the shape of a handler
        """End open runs, flush, and die of the signal as if we had not been there."""
        for run in list(self._open):
            with harmless("ending a run at SIGTERM"):
                run.abort("SIGTERM")
        self.finish()
        signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)


def close_for_good(outlet: Outlet, seconds: float) -> None:
    """Close an outlet that will not be opened again."""
    close = getattr(outlet, "close_for_good", outlet.close)
    close(seconds)


def say_account(account: Counters) -> None:
    """Log what became of all events: a warning when some are lost, else for those who ask for INFO."""
    if account.emitted:
        say(logging.WARNING if account.lost else logging.INFO, "watchline at exit: %s", account)


def do_nothing() -> None:
    """For an outlet that has nothing to do."""


def keep_interrupt() -> None:
    """Let a process that ends by Ctrl-C die of SIGINT still, as a shell that runs it in a loop has to see.

    Python remembers how its last piece of source ended, in whichever thread: the dataclasses of a module that the
    background thread imports after the Ctrl-C make it forget. So the last piece ends as the job did.
    """
    with suppress(KeyboardInterrupt):
        exec("raise KeyboardInterrupt")  # noqa: S102 - a constant


def is_leaving() -> bool:
    """Whether the main thread has ended: Python waits for the other threads, then calls what is registered for exit."""
    return not threading.main_thread().is_alive()


def is_worker() -> bool:
    """Whether multiprocessing started this process."""
    module = sys.modules.get("multiprocessing.process")
    return module is not None and module.parent_process() is not None


def _finish_with_worker(process: Any) -> None:
    """A worker may leave by os._exit, which runs finalisers of multiprocessing but no atexit."""
    util = sys.modules["multiprocessing.util"]
    util.Finalize(None, process.finish, exitpriority=-100)


class Importing:
    """Held while a module is imported late: a fork in the middle would leave the child a lock that nobody frees."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._held = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._hold, after_in_parent=self._free, after_in_child=self._renew)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *left: object) -> None:
        self._lock.release()

    def _hold(self) -> None:
        self._held = self._lock.acquire(timeout=FORK_SECONDS)

    def _free(self) -> None:
        if self._held:
            self._lock.release()

    def _renew(self) -> None:
        self._lock = threading.RLock()


FORK_SECONDS = 2.0
importing = Importing()
process = Process()
