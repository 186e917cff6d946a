"""Which test runs what a document shows. Python and SQL need no entry: every block of theirs is run, see below."""

from __future__ import annotations

from docs.blocks import SHELLS, Block

MAKE = "tests/docs/test_make.py::test_a_target_runs_what_it_is_for"
FIRST_START = "tests/docs/test_first_start.py::test_every_command_of_the_first_start_does_its_work"
SHELL_JOB = "tests/docs/test_first_start.py::test_the_shell_job_of_the_guide_is_stored"
EXTRAS = "tests/docs/test_claims.py::test_what_is_installed_by_name_is_declared"
PYTHON = "tests/docs/test_first_start.py::test_a_python_block_runs_and_its_run_is_stored"
QUERIES = "tests/docs/test_first_start.py::test_a_query_finds_something"
ANSWERS = "tests/docs/test_sql.py::test_a_question_is_answered_as_printed"
QUESTIONS = "docs/sql.md"  # its queries are run on the data of the demo, and their answers compared
GUIDE = "tests/sdk/test_guide.py::test_a_snippet_of_the_guide_runs"
BENCH = "tests/docs/test_make.py::test_the_options_of_the_benchmarks_are_understood"
CHAOS = "tests/faults/chaos/test_command.py::test_a_command_of_the_guide_is_understood"
DRAWING = "a drawing"

# A command line as `Block.commands` gives it, or the first line of a block that is no program.
SHOWN: dict[str, dict[str, str]] = {
    "README.md": {
        "make demo": "tests/cli/demo/test_demo.py::"
        "test_the_demo_stores_every_run_reports_and_alerts_and_leaves_nothing_behind",
        "make test": MAKE,
        " job ─SDK─▶ Kafka ─▶ streams ─▶ Kafka ─▶ sink ─▶ Postgres ─▶ notifier ─▶ Slack": DRAWING,
    },
    "CONTRIBUTING.md": {
        "make": "tests/docs/test_make.py::test_make_alone_prints_every_target",
        "make check": MAKE,
        "make test": MAKE,
        "make test-apache": MAKE,
        "make bench": MAKE,
    },
    "docs/alerts.md": {
        "WARN orders_daily: inserts below the expected range": "tests/docs/test_claims.py::"
        "test_the_sample_of_an_alert_is_what_the_notifier_says",
        "[": "tests/docs/test_claims.py::test_the_routes_of_the_guide_lead_where_it_says",
    },
    "docs/benchmarks.md": {
        "make bench": MAKE,
        'make bench ARGS="--quick"': BENCH,
        'make bench ARGS="--only latency,sink"': BENCH,
        'make bench ARGS="--broker kafka:9092"': BENCH,
        'make bench ARGS="--json figures.json"': BENCH,
        ".venv/bin/python -m bench.latency --help": "tests/bench/test_commands.py::"
        "test_every_part_can_be_called_by_itself",
        ".venv/bin/python -m bench.reporting --runs 20000000 --keep /var/tmp/watchline": "tests/bench/"
        "test_reporting.py::test_the_command_of_the_guide_is_understood",
    },
    "docs/guarantees.md": {
        "make faults": MAKE,
        'make faults ARGS="-k notifier"': MAKE,
        "make faults MINUTES=6 SEED=1": CHAOS,
        "make faults MINUTES=3 SEED=1 BROKERS=3": CHAOS,
        "make faults MINUTES=60 SEED=7": CHAOS,
    },
    "docs/production.md": {
        "pip install 'watchline[server]'": EXTRAS,
        "export WATCHLINE_KAFKA_BOOTSTRAP_SERVERS=kafka-1:9092,kafka-2:9092": FIRST_START,
        "export WATCHLINE_POSTGRES_DSN_FILE=/run/secrets/watchline_dsn": FIRST_START,
        "export WATCHLINE_REPLICATION_FACTOR=3": FIRST_START,
        "watchline topics create": FIRST_START,
        "watchline migrate": FIRST_START,
        "watchline streams": FIRST_START,
        "watchline sink": FIRST_START,
        "watchline notify": FIRST_START,
        "watchline doctor": FIRST_START,
    },
    "docs/sdk.md": {
        "watchline exec --pipeline orders_daily --owner sales -- ./load.sh --full": SHELL_JOB,
        "id=$(watchline emit run.started --pipeline orders_daily)": SHELL_JOB,
        'watchline emit run.ended --pipeline orders_daily --run-id "$id" --status succeeded --inserts 5': SHELL_JOB,
    },
}


def entries_of(block: Block) -> list[str]:
    """What has to be accounted for in `block`: its command lines, or its first line; programs are run as a whole."""
    if block.language in ("python", "sql") or (block.document, block.language) == (QUESTIONS, "text"):
        return []
    return block.commands if block.language in SHELLS else [block.text.split("\n", 1)[0]]


def runner_of(block: Block) -> str | None:
    """The test that runs a whole program."""
    if block.language == "python":
        return GUIDE if block.document == "docs/sdk.md" else PYTHON
    if block.language == "sql":
        return ANSWERS if block.document == QUESTIONS else QUERIES
    return None
