"""Which expected starts, watermarks, commands, hours of ingestion and dead letters go."""

from __future__ import annotations

from watchline.consumers.retention.rules import CHUNK, PIPELINES, Rule, Walk

# Open ones stay, and while it is open, what an incident about missed starts counts.
EXPECTED_RUNS = """
select e.pipeline, e.due_at from expected_runs e
where e.due_at < $1 and coalesce(e.until, e.due_at) < $1 and e.state <> 'expected'
    and not (e.state = 'missed' and exists (select from incidents i
        where i.pipeline = e.pipeline and i.kind = 'missed_start' and i.status = 'open'))
order by e.due_at limit $2 {locked}
"""
# Where each watermark stands is in `watermarks`.
HISTORY = """
select h.event_id from unnest($1::text[], $2::text[]) as p (pipeline, dataset)
cross join lateral (
    select h.event_id from watermark_history h
    where h.pipeline = p.pipeline and h.dataset = p.dataset and h.occurred_at < $3
    order by h.occurred_at limit $4) h
limit $4
"""
# A mute or a snooze stays as long as it holds, an answer to an open incident as long as that.
COMMANDS = """
select c.event_id from unnest($1::text[]) as p (pipeline)
cross join lateral (
    select c.event_id from commands c
    where c.pipeline = p.pipeline and c.at < $2 and coalesce(c.until, c.at) < $2
        and not exists (select from incidents i where i.incident_id = c.incident_id and i.status = 'open')
    order by c.at limit $3) c
limit $3
"""
# Counted from the day on which somebody decided about them: the topic has forgotten them by then.
DEAD_LETTERS = """
select d.dead_letter_id from dead_letters d
where d.status <> 'open' and greatest(d.redriven_at, d.discarded_at) < $1
order by greatest(d.redriven_at, d.discarded_at) limit $2 {locked}
"""

RULES = (
    Rule(
        "expected_runs", ("expected_runs",), EXPECTED_RUNS,
        (("expected_runs", "from expected_runs where (pipeline, due_at) in "
            "(select * from unnest($1::text[], $2::timestamptz[]))"),),
        locked="for update of e skip locked",
    ),
    Rule(
        "ingestion_hours", ("ingestion_hours",),
        "select h.hour from ingestion_hours h where h.hour < $1 order by h.hour limit $2 {locked}",
        (("ingestion_hours", "from ingestion_hours where hour = any($1::timestamptz[])"),),
        locked="for update of h skip locked",
    ),
    Rule(
        "watermark_history", ("watermark_history",), HISTORY,
        (("watermark_history", "from watermark_history where event_id = any($1::uuid[])"),),
        walk=Walk(
            "select pipeline, dataset from watermarks where (pipeline, dataset) > ($1, $2) "
            "order by pipeline, dataset limit $3", ("", ""), size=CHUNK,
        ),
    ),
    Rule(
        "commands", ("commands",), COMMANDS, (("commands", "from commands where event_id = any($1::uuid[])"),),
        walk=PIPELINES,
    ),
    Rule(
        "dead_letters", ("dead_letters",), DEAD_LETTERS,
        (("dead_letters", "from dead_letters where dead_letter_id = any($1::bigint[]) and status <> 'open'"),),
        locked="for update of d skip locked",
    ),
)  # fmt: skip
