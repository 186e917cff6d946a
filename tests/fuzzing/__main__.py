"""`python -m fuzzing`: feed the decoders hostile bytes for as long as asked."""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time
from collections.abc import Sequence

from fuzzing.engine import Broken, Engine, error_of
from fuzzing.targets import TARGETS, Target

SLICE = 250
REPORT_SECONDS = 10.0


def main(arguments: Sequence[str] | None = None, targets: Sequence[Target] = TARGETS) -> int:
    """Exit code 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="fuzzing", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, help="the same seed makes the same inputs")
    parser.add_argument("--replay", metavar="TARGET:HEX", help="feed this one input")
    given = parser.parse_args(arguments)
    if given.replay is not None:
        return replay(given.replay, targets)
    seed = random.randrange(2**32) if given.seed is None else given.seed
    print(f"seed {seed}, {given.minutes:g} minutes", file=sys.stderr)
    engines = [Engine(target, seed) for target in targets]
    broken = fuzz(engines, seconds=given.minutes * 60)
    for engine in engines:
        print(describe(engine))
    if broken is not None:
        print(f"{broken.target} broke: {broken.error}\nsmallest input, {len(broken.raw)} bytes: {broken.raw.hex()}")
        print(f"again: make fuzz REPLAY={broken.target}:{broken.raw.hex()}")
    return 0 if broken is None else 1


def fuzz(engines: Sequence[Engine], *, seconds: float) -> Broken | None:
    """Feed the targets in turn, each by its share, until one breaks or the time is over."""
    turns = itertools.cycle([engine for engine in engines for _ in range(engine.target.share)])
    began = told = time.monotonic()
    while (now := time.monotonic()) - began < seconds:
        if (broken := next(turns).feed(SLICE)) is not None:
            return broken
        if now - told >= REPORT_SECONDS:
            told = now
            tell(engines, now - began)
    return None


def tell(engines: Sequence[Engine], seconds: float) -> None:
    """How it goes, to stderr."""
    each = "  ".join(f"{one.target.name} {one.examples:,} ({len(one.kinds)} outcomes)" for one in engines)
    rate = sum(one.examples for one in engines) / seconds
    print(f"{seconds:5.0f} s  {rate:,.0f}/s  {each}", file=sys.stderr, flush=True)


def describe(engine: Engine) -> str:
    found = ", ".join(f"{reason} {number:,}" for reason, number in engine.reasons.most_common())
    return f"{engine.target.name}: {engine.examples:,} inputs, {len(engine.kinds)} outcomes; {found}"


def replay(text: str, targets: Sequence[Target]) -> int:
    """Feed one input again and say what comes of it."""
    name, _, raw = text.rpartition(":")
    target = next(one for one in targets if one.name == (name or targets[0].name))
    error = error_of(target, bytes.fromhex(raw))
    print(f"{target.name} broke: {error!r}" if error else f"{target.name}: {target.feed(bytes.fromhex(raw))}")
    return 1 if error else 0


if __name__ == "__main__":
    sys.exit(main())
