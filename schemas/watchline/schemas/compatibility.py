"""What an edit of a schema breaks for readers and writers of the old one."""

from __future__ import annotations

from typing import Any


def breaking_changes(old_schema: dict[str, Any], new_schema: dict[str, Any]) -> list[str]:
    """What `new_schema` breaks; empty when every document of the old one still means the same."""
    raise NotImplementedError(f"{len(old_schema)} {len(new_schema)}")
