"""Logs of the services: structlog to stderr, for people on a terminal, as JSON lines everywhere else."""

from __future__ import annotations

import logging
import os
import sys

import structlog

from watchline.schemas.printing import printable, printable_lines

LINES = ("exception", "stack")
LONGEST = 2000
NOISY = ("aiokafka", "faust", "mode", "httpx", "httpcore", "alembic", "asyncio")


def configure_service_logs() -> None:
    """For a service: everything from WATCHLINE_LOG_LEVEL (INFO) upwards, libraries from WARNING."""
    level = logging.getLevelNamesMapping().get(os.environ.get("WATCHLINE_LOG_LEVEL", "INFO").upper(), logging.INFO)
    _configure(level)
    _hush(max(level, logging.WARNING) if level > logging.DEBUG else level)


def configure_command_logs() -> None:
    """For a command that speaks for itself: warnings of ours, and nothing of libraries whose errors we translate."""
    _configure(logging.WARNING)
    _hush(logging.CRITICAL)


def _hush(level: int) -> None:
    for name in NOISY:
        logging.getLogger(name).setLevel(level)


def _configure(level: int) -> None:
    """Send structlog and stdlib records to stderr in one format."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.processors.StackInfoRenderer(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder()],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_render()],
        )
    )
    logging.basicConfig(handlers=[handler], level=level, force=True)


def _render() -> list[structlog.typing.Processor]:
    """JSON escapes whatever is not ASCII; on a terminal we do. Neither shows the variables of a traceback: secrets."""
    if sys.stderr.isatty():
        plain = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        return [structlog.processors.format_exc_info, _make_printable, plain]
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]


def _make_printable(_: object, __: str, facts: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Keys and error texts come from events: none may steer the terminal or look like another line of the log."""
    for name, value in facts.items():
        if isinstance(value, str):
            facts[name] = _set_in(value) if name in LINES else printable(value, LONGEST)
    return facts


def _set_in(text: str) -> str:
    """Lines that begin further in than those of the log."""
    return "\n".join(f"  {line}" for line in printable_lines(text).split("\n"))
