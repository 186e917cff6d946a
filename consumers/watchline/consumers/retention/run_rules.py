"""Which runs go, their attempts and their ancestry with them, and which anomalies.

Kept of old runs: open ones; those that open incidents speak of; the ancestors of both; and of each pipeline the newest
run, the newest success and the newest change of its data, so that `reporting.pipelines` says the same afterwards.
"""

from __future__ import annotations

from watchline.consumers.retention.rules import NAMED, PIPELINES, Rule, Walk

CHANGED = (  # as in reporting.pipelines, and never null
    "({0}.ended_at is not null and not coalesce({0}.backfill, false) "
    "and coalesce({0}.inserts > 0 or {0}.updates > 0 or {0}.deletes > 0, false))"
)
_NEXT = "(select pipeline from pipelines where pipeline > $1 order by pipeline limit $2) p"
# Of each pipeline: its newest run, and where something old is a success or a change, the newest of those. Only then:
# a pipeline that never tells how many rows it changed would be read from end to end.
NEWEST = f"""
select p.pipeline, (select max(r.started_at) from runs r where r.pipeline = p.pipeline) as newest,
    case when exists (select from runs o
            where o.pipeline = p.pipeline and o.started_at < $3 and o.status = 'succeeded')
        then (select s.ended_at from runs s
            where s.pipeline = p.pipeline and s.started_at is not null and s.status = 'succeeded'
            order by s.started_at desc limit 1) end as success,
    case when exists (select from runs o
            where o.pipeline = p.pipeline and o.started_at < $3 and {CHANGED.format("o")})
        then (select c.started_at from runs c
            where c.pipeline = p.pipeline and c.started_at is not null and {CHANGED.format("c")}
            order by c.started_at desc limit 1) end as changed
from {_NEXT} order by p.pipeline
"""  # noqa: S608 - constants
# The same of runs of which only the end was told: their time is that of the end.
NEWEST_ENDS = f"""
select p.pipeline, m.newest, m.success, m.changed from {_NEXT}
cross join lateral (
    select max(r.ended_at) as newest, max(r.ended_at) filter (where r.status = 'succeeded') as success,
        max(r.ended_at) filter (where {CHANGED.format("r")}) as changed
    from runs r where r.pipeline = p.pipeline and r.started_at is null) m
order by p.pipeline
"""  # noqa: S608 - constants
_HELD = f"""
with {NAMED}, held as materialized (
    select run_id from named
    union
    select a.ancestor from named n join run_ancestry a on a.descendant = n.run_id)
"""  # noqa: S608 - constants


def old_runs(time: str, old: str) -> str:
    """The runs to delete, by the column that is their `time` and the condition by which an index finds old ones."""
    return f"""
{_HELD}
select r.run_id
from unnest($1::text[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[])
    as p (pipeline, newest, success, changed)
cross join lateral (
    select r.run_id from runs r
    where r.pipeline = p.pipeline and {old} and r.ended_at < $5 and r.{time} < p.newest
        and (r.status <> 'succeeded' or r.ended_at < p.success)
        and (not {CHANGED.format("r")} or r.{time} < p.changed)
        and not exists (select from held h where h.run_id = r.run_id)
        and not exists (
            select from run_ancestry a join runs d on d.run_id = a.descendant
            where a.ancestor = r.run_id and d.ended_at is null)
    order by r.{time} limit $6 {{locked}}) r
limit $6
"""  # noqa: S608 - constants


# A row of the ancestry belongs to the run below: what ran later keeps the ids of what started it.
WITH_THEIR_RUN = (
    ("run_attempts", "from run_attempts where run_id = any($1::uuid[])"),
    ("run_ancestry", "from run_ancestry where descendant = any($1::uuid[])"),
    ("runs", "from runs where run_id = any($1::uuid[])"),
)
ANOMALIES = f"""
with {NAMED}
select a.anomaly_id from unnest($1::text[]) as p (pipeline)
cross join lateral (
    select a.anomaly_id from anomalies a
    where a.pipeline = p.pipeline and a.run_ended_at < $2
        and not exists (select from named n where n.run_id = a.run_id)
    order by a.run_ended_at limit $3 {{locked}}) a
limit $3
"""  # noqa: S608 - constants
FEEDBACK = f"""
with {NAMED}
select f.pipeline, f.run_id, f.metric from anomaly_feedback f
where f.pipeline = any($1::text[]) and f.given_at < $2
    and not exists (select from named n where n.run_id = f.run_id)
limit $3 {{locked}}
"""  # noqa: S608 - constants

# Totals by day that are kept in tables need no rule when whoever deletes runs and slots marks their days to be computed
# anew: the day then holds what is left of it, and goes when that is nothing. Totals that are not computed anew go here,
# as `Rule("runs", ("runs",), …)`. Either way a day before `retention.kept_from` of `runs`, which is committed before
# the first run of it goes, is not whole.
RULES = (
    Rule(
        "runs", ("runs",), old_runs("started_at", "r.started_at < $5"), WITH_THEIR_RUN,
        walk=Walk(NEWEST, ("",), dated=True), locked="for update of r skip locked",
    ),
    Rule(
        "runs", ("runs",), old_runs("ended_at", "r.started_at is null"), WITH_THEIR_RUN,
        walk=Walk(NEWEST_ENDS, ("",)), locked="for update of r skip locked",
    ),
    Rule(
        "anomalies", ("anomalies",), ANOMALIES, (("anomalies", "from anomalies where anomaly_id = any($1::uuid[])"),),
        walk=PIPELINES, locked="for update of a skip locked",
    ),
    Rule(
        "anomaly_feedback", ("anomaly_feedback",), FEEDBACK,
        (("anomaly_feedback", "from anomaly_feedback where (pipeline, run_id, metric) in "
            "(select * from unnest($1::text[], $2::uuid[], $3::text[]))"),),
        walk=PIPELINES, locked="for update of f skip locked",
    ),
)  # fmt: skip
