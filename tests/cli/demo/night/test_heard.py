from watchline.cli.demo.night.heard import Heard, read_messages

ONE = ["FAIL orders: data is stale", "  age 2 h, limit 1 h", "  incident 0123abcd, change 2"]
TWO = ["RESOLVED orders: run failed (resolved after 5 min)", "  incident deadbeef, change 3"]


def test_each_message_names_the_change_that_it_tells() -> None:
    heard = read_messages([*ONE, *TWO])

    assert heard == [Heard(tuple(ONE[:2]), "0123abcd", 2), Heard((TWO[0],), "deadbeef", 3)]


def test_the_heading_over_several_stories_belongs_to_none() -> None:
    assert read_messages(["orders: 1 failing, 1 resolved", *ONE])[0].lines == tuple(ONE[:2])


def test_a_message_that_is_still_being_printed_is_not_heard() -> None:
    assert read_messages([*ONE, TWO[0]]) == read_messages(ONE)
