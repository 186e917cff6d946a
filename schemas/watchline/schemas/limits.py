"""How big things may be: beyond these a record, text or number is refused, cut or dropped by the decoder."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

MAX_DEPTH = 16
MAX_KEYS = 64  # of one map; each metric name becomes a baseline, each label a column value
MAX_TEXT = 8192
MAX_NAME = 200  # pipelines, owners, types, metrics, labels
MAX_DATASET = 500
MAX_EXCLUSIONS = 400  # dates, or ranges of dates, of one schedule
MAX_NUMBER_LENGTH = 1000  # characters of one number; 1e308 written out has 309
MAX_INTEGER = 2**63 - 1
MAX_SECONDS = 10 * 366 * 86_400
MAX_DURATION_MS = MAX_SECONDS * 1000
MAX_DETAIL_INPUT = 40  # characters of the input that an error message may show

EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
MAX_AHEAD = timedelta(hours=24)  # a time further ahead is refused
CLOCK_SKEW = timedelta(minutes=5)  # a time further ahead is flagged
