"""How the topics must be made."""

from __future__ import annotations

from watchline.schemas.topics import MAX_DEAD_LETTER_BYTES, Topics

SPECS = {spec.name: spec.config for spec in Topics().specs()}
COMPACTED = [name for name, config in SPECS.items() if config.get("cleanup.policy") == "compact"]


def test_what_is_read_from_its_start_is_compacted_and_nothing_else() -> None:
    assert sorted(COMPACTED) == [
        "watchline-streams-declarations-changelog",
        "watchline-streams-runs-changelog",
        "watchline-streams-watermarks-changelog",
        "watchline.pipelines",
        "watchline.watermarks",
    ]


def test_segments_of_compacted_topics_close_early_as_an_open_one_is_never_compacted() -> None:
    sizes = {int(SPECS[name]["segment.bytes"]) for name in COMPACTED}

    assert max(sizes) <= 64 * 1024 * 1024  # some seconds of reading
    assert min(sizes) > 2 * MAX_DEAD_LETTER_BYTES  # the largest record fits, whatever it is
