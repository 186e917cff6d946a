"""Which alerts are told now, together with which, and which wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from slack.incidents import NOON, after, alert, incident
from watchline.consumers.notifier.alert import Alert, Group
from watchline.consumers.notifier.grouping import Plan, Timing, plan_messages

GROUP = Group("orders_daily", "sales")


def plan(alerts: Sequence[Alert], now: datetime, last_sent: Mapping[Group, datetime] | None = None) -> Plan:
    return plan_messages(alerts, last_sent or {}, now, Timing())


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


@given(
    st.lists(
        st.tuples(
            st.integers(0, 4),
            st.sampled_from(["a", "b", None]),
            st.integers(0, 600),
            st.booleans(),
            st.sampled_from(["opened", "updated", "resolved"]),
        ),
        max_size=40,
    ),
    st.integers(0, 20_000),
    st.dictionaries(st.integers(0, 4), st.integers(0, 600)),
)
def test_every_alert_is_sent_or_waits_or_is_closed_exactly_once(
    drawn: list[tuple[int, str | None, int, bool, str]], now: int, sent: dict[int, int]
) -> None:
    alerts = [
        Alert(
            alert_id=number,
            incident=incident(pipeline=f"p{pipeline}", owner=owner, transition=transition),
            created_at=after(seconds=seconds),
            announced=announced,
        )
        for number, (pipeline, owner, seconds, announced, transition) in enumerate(drawn)
    ]
    last_sent = {Group(f"p{name}", "a"): after(seconds=seconds) for name, seconds in sent.items()}

    planned = plan_messages(alerts, last_sent, after(seconds=now), Timing())

    told = [number for message in planned.messages for number in message.alert_ids]
    waiting = [number for ids in planned.waiting.values() for number in ids]
    assert sorted([*told, *waiting, *planned.untold]) == list(range(len(alerts)))
    assert all(at > after(seconds=now) for at in planned.waiting)
