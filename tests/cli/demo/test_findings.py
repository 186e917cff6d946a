from collections import Counter

from watchline.cli.demo.findings import Totals, differences
from watchline.cli.demo.report import number, short

TOTALS = Totals(runs=Counter(succeeded=3, failed=1), rows=10, seconds=20)


def test_equal_totals_differ_in_nothing() -> None:
    assert differences(TOTALS, Totals(runs=Counter(failed=1, succeeded=3), rows=10, seconds=20)) == []


def test_each_difference_is_named() -> None:
    stored = Totals(runs=Counter(succeeded=2, running=1, failed=1), rows=9, seconds=20)

    assert differences(stored, TOTALS) == [
        "1 runs running instead of 0",
        "2 runs succeeded instead of 3",
        "9 rows instead of 10",
    ]


def test_numbers_show_no_more_digits_than_matter() -> None:
    assert [number(value) for value in (12_345.6, 0.0, 3.0, 0.12345, None)] == ["12,346", "0", "3", "0.123", "-"]


def test_a_watermark_is_shown_to_the_minute() -> None:
    assert short("2021-04-01T15:49:40Z") == "2021-04-01 15:49"
    assert short(None) == "-"
