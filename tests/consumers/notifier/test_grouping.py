"""Which alerts are told now, together with which, and which wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from slack.incidents import NOON, after, alert, changed, incident, resolved
from watchline.consumers.notifier.alert import Alert, Group, Post
from watchline.consumers.notifier.grouping import Plan, Timing, plan_messages

GROUP = Group("orders_daily", "sales")
POST, OTHER = Post("#data", "C000DATA", "1.1"), Post("#data", "C000DATA", "2.2")


def plan(
    alerts: Sequence[Alert], now: datetime, last_sent: Mapping[Group, datetime] | None = None, *, edits: bool = False
) -> Plan:
    return plan_messages(alerts, last_sent or {}, now, Timing(), edits=edits)


def test_the_first_alert_of_a_group_waits_for_others() -> None:
    first = alert(incident())

    early, due = plan([first], after(seconds=29)), plan([first], after(seconds=30))

    assert early.messages == ()
    assert early.waiting == {after(seconds=30): [first.alert_id]}
    assert [message.alerts for message in due.messages] == [(first,)]


def test_alerts_of_one_pipeline_and_owner_are_one_message() -> None:
    one, two = alert(incident()), alert(incident(at=after(seconds=20), kind="failure"))
    other = alert(incident(pipeline="stock"))
    elsewhere = alert(incident(owner=None))

    messages = plan([two, other, one, elsewhere], after(seconds=30)).messages

    assert [message.alerts for message in messages] == [(one, two), (other,), (elsewhere,)]


def test_a_later_message_of_a_group_keeps_the_interval() -> None:
    late = alert(incident(at=after(seconds=60)))

    early = plan([late], after(seconds=120), {GROUP: NOON})

    assert early.waiting == {after(minutes=5): [late.alert_id]}
    assert plan([late], after(minutes=5), {GROUP: NOON}).messages != ()


def test_the_interval_of_one_group_does_not_hold_up_another() -> None:
    stock = alert(incident(pipeline="stock"))

    assert plan([stock], after(seconds=30), {GROUP: NOON}).messages != ()


def test_an_open_incident_is_repeated_after_the_repeat_interval_only() -> None:
    reminder = alert(incident(), told_at=NOON)

    assert plan([reminder], after(hours=3.9), {GROUP: NOON}).messages == ()
    assert plan([reminder], after(hours=4), {GROUP: NOON}).messages != ()


def test_the_end_of_an_incident_that_nobody_heard_of_is_not_told() -> None:
    end = alert(incident(transition="resolved", transition_no=2), announced=False)
    known = alert(incident(transition="resolved", transition_no=2))

    planned = plan([end, known], after(hours=1))

    assert planned.untold == (end.alert_id,)
    assert [message.alerts for message in planned.messages] == [(known,)]


def test_a_change_that_calls_nobody_waits_for_nothing_where_posts_can_be_edited() -> None:
    opened = incident()
    quiet = alert(changed(opened), quiet=True, post=POST)
    loud = alert(incident(at=after(seconds=60)))

    planned = plan([quiet, loud], after(seconds=61), {GROUP: NOON}, edits=True)

    assert [(message.alerts, message.post) for message in planned.messages] == [((quiet,), POST)]
    assert planned.waiting == {after(minutes=5): [loud.alert_id]}


def test_a_change_that_calls_nobody_is_not_told_where_nothing_can_be_edited() -> None:
    quiet = alert(changed(incident()), quiet=True)

    planned = plan([quiet], after(hours=1))

    assert (planned.messages, planned.unshown) == ((), (quiet.alert_id,))


def test_every_post_is_edited_by_a_message_of_its_own_and_what_is_new_is_posted() -> None:
    one, two, new = alert(incident(), post=POST), alert(incident(), post=OTHER), alert(incident())

    messages = plan([one, two, new], after(seconds=30), edits=True).messages

    assert [(message.alerts, message.post) for message in messages] == [((one,), POST), ((two,), OTHER), ((new,), None)]


def test_what_may_have_been_sent_before_keeps_its_delivery_and_what_came_since_is_a_message_of_its_own() -> None:
    before = alert(incident())
    (sent,) = plan([before], after(seconds=30)).messages
    again = replace(before, delivery_key=sent.delivery, in_doubt_since=after(seconds=30), unanswered=1)
    since = alert(incident(at=after(seconds=1)))

    doubtful, new = plan([again, since], after(minutes=1)).messages

    assert (doubtful.delivery, doubtful.in_doubt_since) == (sent.delivery, after(seconds=30))
    assert (new.alerts, new.in_doubt_since) == ((since,), None)


def test_a_reminder_is_another_delivery_than_what_it_repeats() -> None:
    first = alert(incident())
    reminder = replace(first, told_at=after(minutes=1))

    (told,), (repeated,) = plan([first], after(seconds=30)).messages, plan([reminder], after(hours=5)).messages

    assert told.delivery != repeated.delivery


def test_an_incident_that_was_held_back_and_ended_before_it_could_be_told_is_not_told() -> None:
    opened = incident()
    held, end = alert(opened, held=True), alert(resolved(opened, after(hours=1)))

    planned = plan([held, end], after(hours=2))

    assert (planned.messages, set(planned.untold)) == ((), {held.alert_id, end.alert_id})


def test_an_incident_that_was_held_back_and_lasts_is_told() -> None:
    held = alert(incident(), held=True)

    assert [message.alerts for message in plan([held], after(hours=1)).messages] == [(held,)]


def test_a_storm_is_one_message_whatever_its_pipelines_and_owners() -> None:
    storm = [alert(incident(pipeline=f"p{number}", owner=str(number % 3)), storm_id=7) for number in range(50)]

    messages = plan(storm, after(seconds=30)).messages

    assert [len(message.alerts) for message in messages] == [50]


def test_a_digest_that_can_be_edited_follows_the_storm_sooner_than_one_that_is_sent_anew() -> None:
    late = alert(incident(at=after(seconds=10)), storm_id=7)
    sent = {Group("", None, 7): after(seconds=15)}

    assert plan([late], after(seconds=45), sent, edits=True).messages != ()
    assert plan([late], after(seconds=45), sent).waiting == {after(minutes=5, seconds=15): [late.alert_id]}


@given(
    st.lists(
        st.tuples(
            st.integers(0, 4),
            st.sampled_from(["a", "b", None]),
            st.integers(0, 600),
            st.booleans(),
            st.sampled_from(["opened", "updated", "resolved"]),
            st.booleans(),
            st.sampled_from([None, 1]),
        ),
        max_size=40,
    ),
    st.integers(0, 20_000),
    st.dictionaries(st.integers(0, 4), st.integers(0, 600)),
    st.booleans(),
)
def test_every_alert_is_sent_or_waits_or_is_closed_exactly_once(
    drawn: list[tuple[int, str | None, int, bool, str, bool, int | None]], now: int, sent: dict[int, int], edits: bool
) -> None:
    alerts = [
        Alert(
            alert_id=number,
            incident=incident(pipeline=f"p{pipeline}", owner=owner, transition=transition),
            created_at=after(seconds=seconds),
            announced=announced,
            quiet=quiet,
            storm_id=storm,
        )
        for number, (pipeline, owner, seconds, announced, transition, quiet, storm) in enumerate(drawn)
    ]
    last_sent = {Group(f"p{name}", "a"): after(seconds=seconds) for name, seconds in sent.items()}

    planned = plan_messages(alerts, last_sent, after(seconds=now), Timing(), edits=edits)

    told = [number for message in planned.messages for number in message.alert_ids]
    waiting = [number for ids in planned.waiting.values() for number in ids]
    assert sorted([*told, *waiting, *planned.untold, *planned.unshown]) == list(range(len(alerts)))
    assert all(at > after(seconds=now) for at in planned.waiting)
