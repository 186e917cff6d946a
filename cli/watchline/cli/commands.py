"""Which commands exist, and where: each is imported when it is called, so that `watchline exec` starts fast."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

import click


@dataclass(frozen=True, slots=True)
class Entry:
    """One command: where it lives (`module:name`), and the line that stands for it in the overview."""

    target: str
    summary: str

    def load(self) -> click.Command:
        module, _, name = self.target.partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command


SECTIONS: dict[str, dict[str, Entry]] = {
    "Try it": {
        "demo": Entry("watchline.cli.demo.command:demo", "Replay real CI runs and print what was found"),
        "dev": Entry("watchline.cli.dev.command:dev", "Run everything on this machine, in one terminal"),
    },
    "Report from a job": {
        "exec": Entry("watchline.cli.jobs:exec_command", "Run a command and report it as a run"),
        "emit": Entry("watchline.cli.jobs:emit_command", "Send one event"),
    },
    "Look and decide": {
        "report": Entry("watchline.cli.report.command:report", "Print how pipelines stand, their days and promises"),
        "incidents": Entry(
            "watchline.cli.incidents.command:incidents", "See, acknowledge, resolve or snooze incidents"
        ),
        "mute": Entry("watchline.cli.incidents.muting:mute", "Open no incidents of a pipeline for a while"),
        "unmute": Entry("watchline.cli.incidents.muting:unmute", "End such a while before its time"),
        "feedback": Entry("watchline.cli.incidents.answering:feedback", "Say what a flagged run really was"),
    },
    "Run the service": {
        "migrate": Entry("watchline.cli.setup:migrate", "Bring the Postgres schema up to date"),
        "topics": Entry("watchline.cli.setup:topics", "Create or check the Kafka topics"),
        "streams": Entry("watchline.cli.services.streams:streams", "Run a streams worker: Kafka to verdicts"),
        "sink": Entry("watchline.cli.services.sink:sink", "Run the sink: Kafka to Postgres"),
        "notify": Entry("watchline.cli.services.notifier:notify", "Run the notifier: Postgres to Slack"),
        "rebuild": Entry("watchline.cli.rebuild.command:rebuild", "Make the tables anew from the log"),
        "doctor": Entry("watchline.cli.doctor.command:doctor", "Check settings, Kafka, Postgres and lag"),
        "prune": Entry("watchline.cli.pruning:prune", "Delete what has grown old, or count it"),
        "restore-state": Entry(
            "watchline.cli.restoring.command:restore_state", "Make the state of the streams anew from Postgres"
        ),
        "dead-letters": Entry("watchline.cli.dead_letters.command:dead_letters", "See, redrive or discard bad records"),
    },
}
ENTRIES = {name: entry for section in SECTIONS.values() for name, entry in section.items()}


class LazyGroup(click.Group):
    """A group that imports a command when it is called and lists all of them without importing any."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(ENTRIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        entry = ENTRIES.get(cmd_name)
        if entry is None:
            return None
        command = entry.load()
        command.name = cmd_name
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        for title, entries in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.summary) for name, entry in entries.items()])
