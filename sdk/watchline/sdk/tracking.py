"""`@pipeline.track`: a run round every call of a function, generator, coroutine or async generator."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from watchline.sdk.harmless import harmless, say
from watchline.sdk.run import CURRENT, Run

if TYPE_CHECKING:
    from watchline.sdk.pipeline import TrackedPipeline

F = TypeVar("F", bound=Callable[..., Any])


def track(pipeline: TrackedPipeline, function: F) -> F:
    """The function with a run round each call; of the same kind, with the same result, exceptions and protocol."""
    if inspect.isasyncgenfunction(function):
        wrapper = _track_async_generator(pipeline, function)
    elif inspect.iscoroutinefunction(function):
        wrapper = _track_coroutine(pipeline, function)
    elif inspect.isgeneratorfunction(function):
        wrapper = _track_generator(pipeline, function)
    else:
        wrapper = _track_call(pipeline, function)
    return cast(F, functools.wraps(function)(wrapper))


def _track_call(pipeline: TrackedPipeline, function: Callable[..., Any]) -> Callable[..., Any]:
    wants_run = takes_run(function)

    def tracked(*args: Any, **kwargs: Any) -> Any:
        if is_skipped(pipeline, function):
            return None
        with pipeline.run() as run:
            return function(*args, **with_run(kwargs, run, wants_run))

    return tracked


def _track_coroutine(pipeline: TrackedPipeline, function: Callable[..., Any]) -> Callable[..., Any]:
    wants_run = takes_run(function)

    async def tracked(*args: Any, **kwargs: Any) -> Any:
        if is_skipped(pipeline, function):
            return None
        async with pipeline.run() as run:
            return await function(*args, **with_run(kwargs, run, wants_run))

    return tracked


def _track_generator(pipeline: TrackedPipeline, function: Callable[..., Any]) -> Callable[..., Any]:
    wants_run = takes_run(function)

    def tracked(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        if is_skipped(pipeline, function):
            return None
        run = pipeline.run()
        with Reported(run):
            return (yield from Stepwise(function(*args, **with_run(kwargs, run, wants_run)), run))

    return tracked


def _track_async_generator(pipeline: TrackedPipeline, function: Callable[..., Any]) -> Callable[..., Any]:
    wants_run = takes_run(function)

    async def tracked(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        if is_skipped(pipeline, function):
            return
        run = pipeline.run()
        with Reported(run):
            source = function(*args, **with_run(kwargs, run, wants_run))
            step = source.asend(None)
            while True:
                try:
                    value = await within(run, step)
                except StopAsyncIteration:
                    return
                try:
                    step = source.asend((yield value))
                except GeneratorExit:
                    await within(run, source.aclose())
                    raise
                except BaseException as error:  # noqa: BLE001 - it is the generator's to handle
                    step = source.athrow(error)

    return tracked


class Reported:
    """Begins and ends a run without making it the current one: a generator shares its caller's context."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __enter__(self) -> None:
        self._run.begin()

    def __exit__(self, *left: Any) -> None:
        self._run.__exit__(*left)


class Stepwise(Generator[Any, Any, Any]):
    """A generator that sees its run as the current one while it works, not while it waits."""

    def __init__(self, source: Generator[Any, Any, Any], run: Run) -> None:
        self._source = source
        self._run = run

    def send(self, value: Any) -> Any:
        """One step."""
        token = CURRENT.set(self._run)
        try:
            return self._source.send(value)
        finally:
            CURRENT.reset(token)

    def throw(self, *error: Any) -> Any:
        """One step that begins with an exception."""
        token = CURRENT.set(self._run)
        try:
            return self._source.throw(*error)
        finally:
            CURRENT.reset(token)

    def close(self) -> None:
        """The last step."""
        token = CURRENT.set(self._run)
        try:
            self._source.close()
        finally:
            CURRENT.reset(token)


async def within(run: Run, step: Any) -> Any:
    """Await one step of an async generator with its run as the current one."""
    token = CURRENT.set(run)
    try:
        return await step
    finally:
        CURRENT.reset(token)


def takes_run(function: Callable[..., Any]) -> bool:
    """Whether the function has a parameter named `run` that can be given by name."""
    with harmless("reading a signature"):
        parameter = inspect.signature(function).parameters.get("run")
        return parameter is not None and parameter.kind in {parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD}
    return False


def with_run(kwargs: dict[str, Any], run: Run, wanted: bool) -> dict[str, Any]:
    """The arguments by name, with the run where it is wanted and the caller has not given one."""
    return {"run": run, **kwargs} if wanted else kwargs


def is_skipped(pipeline: TrackedPipeline, function: Callable[..., Any]) -> bool:
    """Whether the pipeline is inactive, so that the function is not called and gives None (or yields nothing)."""
    if pipeline.active:
        return False
    pipeline.declare()  # so that its silence is known to be meant
    name = getattr(function, "__qualname__", repr(function))
    say(logging.WARNING, "pipeline %s is inactive: %s is not called", pipeline.name, name)
    return True
