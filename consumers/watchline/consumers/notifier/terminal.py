"""Alerts on the terminal, for when no webhook is configured."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from watchline.consumers.notifier.alert import Message
from watchline.consumers.notifier.blocks import heading
from watchline.consumers.notifier.channel import Outcome
from watchline.consumers.notifier.digest import digest
from watchline.consumers.notifier.stories import Story, tell

SHOWN = 20
WORDS = {"fail": "FAIL", "warn": "WARN", "resolved": "RESOLVED"}
STYLES = {"fail": "bold red", "warn": "bold yellow", "resolved": "bold green"}


class AlertConsole(Console):
    """A console that reports a closed pipe; Rich's own leaves the process."""

    def on_broken_pipe(self) -> None:
        raise  # noqa: PLE0704 - Rich calls this while it handles the BrokenPipeError


class TerminalChannel:
    """Prints messages in words that need no colour; names are never markup or escapes."""

    name = "terminal"
    edits = False

    def __init__(self, console: AlertConsole | None = None) -> None:
        self._printed = False
        self._console = console or AlertConsole(highlight=False, emoji=False, markup=False)

    async def send(self, message: Message) -> Outcome:
        """Print, with a blank line before all but the first; a closed output is nothing that waiting would mend."""
        encoding, gap = self._console.encoding, "\n" if self._printed else ""
        try:
            with self._console.capture() as capture:
                for line in compose(message):
                    self._console.print(line)
            text = "\n".join(line.rstrip(" ") for line in capture.get().split("\n"))  # Rich pads to the width
            self._console.file.write((gap + text).encode(encoding, "backslashreplace").decode(encoding))
            self._console.file.flush()
            self._printed = True
        except OSError as error:
            return Outcome("rejected", detail=type(error).__name__, broken=True)
        return Outcome("accepted")

    async def close(self) -> None:
        """Nothing is held."""


def compose(message: Message) -> list[RenderableType]:
    """The lines of a message: a head in colour, then the facts and details, indented."""
    if message.storm is not None:
        told = digest(message, message.storm)
        head = Text.assemble((WORDS[told.mark], STYLES[told.mark]), " ", told.heading)
        return [head, *(Padding.indent(Text(line), 2) for line in (*told.facts, *told.lines, told.reference))]
    stories = tell(message)
    lines: list[RenderableType] = [Text(heading(stories), "bold")] if len(stories) > 1 else []
    for story in stories[:SHOWN]:
        lines += _story(story)
    if len(stories) > SHOWN:
        lines.append(Text(f"and {len(stories) - SHOWN} more"))
    return lines


def _story(story: Story) -> list[RenderableType]:
    head = Text.assemble((WORDS[story.mark], STYLES[story.mark]), " ", story.headline)
    details = "; ".join(f"{label.lower()} {value}" for label, value in story.details)
    body = [*(Text(line) for line in (*story.facts, details)), Text(story.reference, "dim")]
    return [head, *(Padding.indent(line, 2) for line in body)]
