"""A message as Slack's Block Kit, with a plain-text fallback; no name in it can mention, link or format.

What comes from events stands in `plain_text` elements, which Slack shows as they are; the fallback is sent
with `mrkdwn` off. `&`, `<` and `>` are escaped: https://docs.slack.dev/messaging/formatting-message-text
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from watchline.consumers.notifier.alert import Message
from watchline.consumers.notifier.digest import Digest, digest
from watchline.consumers.notifier.stories import Story, summary, tell

MAX_HEADER = 150
MAX_FIELD = 400
MAX_FACTS = 1_200
MAX_STORY = 900
MAX_FALLBACK = 3_000
MAX_SECTION = 2_900  # Slack takes 3,000
MAX_SECTIONS = 3
REPEATED = "perhaps a repetition: it is not known whether Slack has taken this before"
SHOWN = 6  # 6 stories of at most 900 characters, the header and the fallback stay below 12,000 in all
FACTS_SHOWN = 8
MARKS = {"fail": "🔴", "warn": "🟠", "resolved": "✅"}
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def render(message: Message, *, repeated: bool = False) -> dict[str, Any]:
    """The body of a request: `blocks` and the `text` that notifications and old clients show.

    `repeated`: nobody knows whether the same was accepted before, and the message says so.
    """
    if message.storm is not None:
        told = digest(message, message.storm)
        return {**_digest_text(told, repeated=repeated), "blocks": _digest(told, repeated=repeated)}
    stories = tell(message)
    body = _single(stories[0]) if len(stories) == 1 else _several(stories)
    return {**_without_blocks(stories, repeated=repeated), "blocks": [*body, *_repetition(repeated=repeated)]}


def fallback(message: Message, *, repeated: bool = False) -> dict[str, Any]:
    """The message without blocks, for when Slack refuses them."""
    if message.storm is not None:
        return _digest_text(digest(message, message.storm), repeated=repeated)
    return _without_blocks(tell(message), repeated=repeated)


def leaves_out(message: Message) -> bool:
    """Whether `render` has no room for all that there is to say."""
    if message.storm is not None:
        return False
    stories = tell(message)
    return len(stories) > SHOWN or any(len(story.facts) > FACTS_SHOWN for story in stories)


def render_all(message: Message) -> dict[str, Any]:
    """Every incident with all its facts, as far as one message goes: for a thread."""
    lines = [line for story in tell(message) for line in (f"{MARKS[story.mark]} {story.headline}", *story.facts)]
    sections: list[str] = []
    for line in lines:
        if not sections or len(escape(sections[-1])) + len(escape(line)) >= MAX_SECTION:
            sections.append(line)
        else:
            sections[-1] += f"\n{line}"
    shown = [{"type": "section", "text": _plain(section, MAX_SECTION)} for section in sections[:MAX_SECTIONS]]
    rest = [_context("the rest stands in the table incidents")] if len(sections) > MAX_SECTIONS else []
    return {**_text(lines), "blocks": [*shown, *rest]}


def _without_blocks(stories: Sequence[Story], *, repeated: bool = False) -> dict[str, Any]:
    lines = [f"{MARKS[stories[0].mark]} {heading(stories)}"]
    for story in stories[:SHOWN]:
        lines += [f"{MARKS[story.mark]} {story.headline}"] if len(stories) > 1 else []
        lines += story.facts[:FACTS_SHOWN]
        lines.append(", ".join([*(f"{label.lower()} {value}" for label, value in story.details), story.reference]))
    lines += _more(stories)
    return _text([*lines, *([REPEATED] if repeated else [])])


def _digest_text(told: Digest, *, repeated: bool) -> dict[str, Any]:
    lines = [f"{MARKS[told.mark]} {told.heading}", *told.facts, *told.lines, told.reference]
    return _text([*lines, *([REPEATED] if repeated else [])])


def _digest(told: Digest, *, repeated: bool) -> list[dict[str, Any]]:
    blocks = [_header(f"{MARKS[told.mark]} {told.heading}")]
    blocks.append({"type": "section", "text": _plain("\n".join(told.facts), MAX_FACTS)})
    if told.lines:
        blocks.append({"type": "section", "text": _plain("\n".join(told.lines), MAX_SECTION)})
    return [*blocks, _context(told.reference), *_repetition(repeated=repeated)]


def _repetition(*, repeated: bool) -> list[dict[str, Any]]:
    return [_context(REPEATED)] if repeated else []


def _text(lines: Sequence[str]) -> dict[str, Any]:
    text = fit("\n".join(lines), MAX_FALLBACK)
    return {"text": text, "mrkdwn": False, "unfurl_links": False, "unfurl_media": False}


def heading(stories: Sequence[Story]) -> str:
    """The first line of a message: the incident itself, or how many there are and where."""
    if len(stories) == 1:
        return stories[0].headline
    pipelines = list(dict.fromkeys(dict(story.details)["Pipeline"] for story in stories))
    where = pipelines[0] if len(pipelines) == 1 else f"{len(pipelines)} pipelines"
    return f"{where}: {summary(stories)}"


def escape(text: str) -> str:
    """`text` without Slack's three control characters."""
    return "".join(ENTITIES.get(character, character) for character in text)


def fit(text: str, limit: int) -> str:
    """`text` escaped, at most `limit` characters long afterwards, and never cut within an entity."""
    escaped = escape(text)
    if len(escaped) <= limit:
        return escaped
    kept, length = [], 0
    for character in text:
        piece = ENTITIES.get(character, character)
        if length + len(piece) > limit - 1:
            break
        kept.append(piece)
        length += len(piece)
    return "".join(kept) + "…"


def _single(story: Story) -> list[dict[str, Any]]:
    blocks = [_header(f"{MARKS[story.mark]} {story.headline}")]
    if story.facts:
        blocks.append({"type": "section", "text": _plain("\n".join(_shown_facts(story)), MAX_FACTS)})
    fields = [part for label, value in story.details for part in (_label(label), _plain(value, MAX_FIELD))]
    blocks.append({"type": "section", "fields": fields})
    blocks.append(_context(story.reference))
    return blocks


def _several(stories: Sequence[Story]) -> list[dict[str, Any]]:
    blocks = [_header(f"{MARKS[stories[0].mark]} {heading(stories)}")]
    for story in stories[:SHOWN]:
        lines = [f"{MARKS[story.mark]} {story.headline}", *_shown_facts(story)]
        lines.append(", ".join(f"{label.lower()} {value}" for label, value in story.details if label != "Pipeline"))
        blocks.append({"type": "section", "text": _plain("\n".join(lines), MAX_STORY)})
    references = "; ".join(story.reference for story in stories[:SHOWN])
    blocks.append(_context("; ".join([*_more(stories), references])))
    return blocks


def _shown_facts(story: Story) -> list[str]:
    hidden = len(story.facts) - FACTS_SHOWN
    return [*story.facts[:FACTS_SHOWN], *([f"and {hidden} more"] if hidden > 0 else [])]


def _more(stories: Sequence[Story]) -> list[str]:
    hidden = stories[SHOWN:]
    return [f"and {len(hidden)} more ({summary(hidden)})"] if hidden else []


def _header(text: str) -> dict[str, Any]:
    return {"type": "header", "text": _plain(text, MAX_HEADER)}


def _context(text: str) -> dict[str, Any]:
    return {"type": "context", "elements": [_plain(text, MAX_FIELD)]}


def _plain(text: str, limit: int) -> dict[str, Any]:
    shown = fit(text, limit)
    return {"type": "plain_text", "text": shown if shown.strip() else "-", "emoji": False}  # Slack refuses a blank


def _label(word: str) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": f"*{word}*"}
