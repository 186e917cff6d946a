"""Whether a pipeline is one that was ever heard of: a name with a typo would be muted, and never anything else."""

from __future__ import annotations

from typing import Any

import asyncpg

from watchline.cli.nearness import meant, nearest
from watchline.consumers.sink.dead_letters import clean
from watchline.schemas.errors import Misconfigured

LOOKED_AT = 20_000  # names that are compared with the unknown one

KNOWN = "select exists (select from public.pipelines where pipeline = $1)"
# Those that begin alike first.
NAMES = "select pipeline from public.pipelines order by starts_with(lower(pipeline), lower($1)) desc, pipeline limit $2"


async def require_pipeline(connection: asyncpg.Connection[Any], name: str) -> None:
    """Return when the sink has heard of the pipeline; Misconfigured names those whose names are nearest."""
    wanted = clean(name.strip())
    if await connection.fetchval(KNOWN, wanted):
        return
    found = nearest(wanted, [row["pipeline"] for row in await connection.fetch(NAMES, wanted[:2], LOOKED_AT)])
    asked = f"{meant(found)} " if found else ""
    raise Misconfigured(
        f"no pipeline {name} was ever heard of", hint=f"{asked}--force sends it all the same, as the sink may lag"
    )
