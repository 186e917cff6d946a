-- A post of a bot counts once, however often it is edited. A webhook keeps no posts: there each message that was
-- accepted counts, and the alerts of one have the same time.
create view reporting.alert_load as
select (t.at at time zone 'UTC')::date as day, t.owner, t.channel, count(distinct t.message) as messages,
    count(distinct t.alert_id) as alerts, count(*) filter (where t.state = 'failed') as failed,
    count(*) filter (where t.state = 'suppressed') as suppressed
from (
    select m.posted_at as at, o.owner, m.channel, m.message_id::text as message,
        case when not o.quiet then o.alert_id end as alert_id, null::text as state
    from public.alert_messages m join public.alert_outbox o using (message_id)
    union all
    select d.attempted_at, o.owner, d.channel, d.attempted_at::text, o.alert_id, null
    from public.alert_deliveries d join public.alert_outbox o using (alert_id)
    where d.outcome = 'accepted' and not exists (select from public.alert_messages m where m.channel = d.channel)
    union all
    select o.created_at, o.owner, null, null, null, o.state
    from public.alert_outbox o where o.state in ('failed', 'suppressed') and not o.quiet) t
group by 1, 2, 3;

comment on view reporting.alert_load is
    'One row per day (UTC), owner and channel: how much people were told, and what they were not told';
comment on column reporting.alert_load.day is 'The day of the message; of an alert that was not told, that on which it arose';
comment on column reporting.alert_load.owner is 'Owner of the alerts; a message that tells those of several counts for each';
comment on column reporting.alert_load.channel is 'Where it was told; null for what was told nowhere';
comment on column reporting.alert_load.messages is 'Messages that people got: posts, and over a webhook reminders too';
comment on column reporting.alert_load.alerts is 'Alerts that those told';
comment on column reporting.alert_load.failed is 'Alerts that could not be told';
comment on column reporting.alert_load.suppressed is 'Alerts that were kept back for good: too old, or over before they were told';

-- A reminder moves alert_outbox.sent_at: when people first heard is the first answer of a channel.
create view reporting.delivery as
select o.alert_id, o.incident_id, o.pipeline, o.owner, o.kind, o.severity, o.transition,
    coalesce(
        (select d.channel from public.alert_deliveries d
            where d.alert_id = o.alert_id and d.outcome = 'accepted' order by d.delivery_id desc limit 1),
        (select m.channel from public.alert_messages m where m.message_id = o.message_id)) as channel,
    o.state, o.suppressed_reason, o.created_at, o.heard_at as sent_at, o.attempts,
    extract(epoch from o.heard_at - o.cause_at) as delay_seconds, o.last_error
from (
    select a.*, coalesce(
        (select min(d.attempted_at) from public.alert_deliveries d
            where d.alert_id = a.alert_id and d.outcome = 'accepted'), a.sent_at) as heard_at
    from public.alert_outbox a where not a.quiet) o;

comment on view reporting.delivery is
    'One row per alert and how it reached people; changes that only edit a post and call nobody are left out';
comment on column reporting.delivery.alert_id is 'Identifies the alert';
comment on column reporting.delivery.incident_id is 'The incident that it is about';
comment on column reporting.delivery.pipeline is 'Name of the pipeline';
comment on column reporting.delivery.owner is 'Who owned the pipeline';
comment on column reporting.delivery.kind is 'Kind of the incident';
comment on column reporting.delivery.severity is 'warn or fail';
comment on column reporting.delivery.transition is 'What happened to the incident: opened, updated, woken or resolved';
comment on column reporting.delivery.channel is 'Where it was told last; null when nowhere';
comment on column reporting.delivery.state is
    'pending, held (while ingestion is ill), inhibited (waits for its cause), sent, suppressed or failed';
comment on column reporting.delivery.suppressed_reason is 'Why it was kept back for good';
comment on column reporting.delivery.created_at is 'When the sink wrote it, UTC';
comment on column reporting.delivery.sent_at is 'When it was first told, UTC; null when it was not';
comment on column reporting.delivery.attempts is 'How often its sending was answered, reminders included';
comment on column reporting.delivery.delay_seconds is 'From the cause until it was first told, in seconds';
comment on column reporting.delivery.last_error is 'Why its last sending failed; null when it was accepted'
