"""Two seconds of `make fuzz`, and that it can find something."""

from __future__ import annotations

import pytest

from fuzzing.__main__ import main
from fuzzing.engine import Engine
from fuzzing.mutation import parsed
from fuzzing.shrinking import shrink
from fuzzing.targets import TARGETS, Outcome, Target, event_seeds, feed_decoder

INPUTS = 3000


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_any_bytes_give_a_value_or_the_one_error_that_says_why(target: Target) -> None:
    engine = Engine(target, seed=1)

    broken = engine.feed(INPUTS * target.share // 2)

    assert broken is None
    assert len(engine.kinds) > 20


def test_the_same_seed_makes_the_same_inputs() -> None:
    def story(seed: int) -> list[bytes]:
        seen: list[bytes] = []

        def note(raw: bytes) -> Outcome:
            seen.append(raw)
            return Outcome(None, len(raw))

        Engine(Target("t", note, event_seeds, 1), seed).feed(600)
        return seen

    assert story(3) == story(3)
    assert story(3) != story(4)


def feed_with_a_bug(raw: bytes) -> Outcome:
    """A decoder that trusts one field."""
    tree = parsed(raw)
    if isinstance(tree, dict) and isinstance(tree.get("inserts"), str):
        raise ZeroDivisionError("a text where a number should be")
    return feed_decoder(raw)


def test_a_planted_bug_is_found_made_small_and_found_again_from_its_hex(capsys: pytest.CaptureFixture[str]) -> None:
    targets = [Target("planted", feed_with_a_bug, event_seeds, 1)]

    code = main(["--minutes", "5", "--seed", "1"], targets)
    printed = capsys.readouterr().out
    again = printed.rpartition("REPLAY=")[2].strip()
    code_again = main(["--replay", again], targets)

    raw = bytes.fromhex(again.partition(":")[2])
    assert code == code_again == 1
    assert "planted broke: ZeroDivisionError" in printed
    assert len(raw) <= len(b'{"inserts":""}')
    assert "planted broke: ZeroDivisionError" in capsys.readouterr().out


def test_the_shortest_failing_input_is_kept() -> None:
    assert shrink(b"aaaa{bbbb}cccc" * 20, lambda raw: b"{" in raw and raw.endswith(b"c")) == b"{c"
