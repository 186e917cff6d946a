"""Runs the migrations on the connection that `watchline.consumers.migrations.migrate` hands over.

That connection is inside a transaction which holds the advisory lock: all revisions apply or none does.
"""

from __future__ import annotations

from typing import Any

from alembic import context

from watchline.schemas.errors import Misconfigured
from watchline.schemas.failpoints import failpoint


def note(*_: Any, **applied: Any) -> None:
    """Remember the revision just applied, for the caller to report."""
    failpoint("M2")  # a step without its successors is seen by nobody
    context.config.attributes["applied"].append(applied["step"].up_revision_id)


def run() -> None:
    connection = context.config.attributes.get("connection")
    if connection is None:
        raise Misconfigured("alembic was started by itself", hint="run `watchline migrate`, it takes a lock")
    context.configure(connection=connection, on_version_apply=note)
    context.run_migrations()


run()
