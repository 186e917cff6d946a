"""The closed list of what the decoder repairs: each code in `event.flags` is one of these."""

from __future__ import annotations

from typing import Final

BOM_REMOVED: Final = "bom_removed"
UUID_CANONICALISED: Final = "uuid_canonicalised"
CLOCK_SKEW: Final = "clock_skew"
TIME_TRUNCATED: Final = "time_truncated"
TIME_DROPPED: Final = "time_dropped"
STATUS_NORMALISED: Final = "status_normalised"
STATUS_UNKNOWN: Final = "status_unknown"
NUMBER_NORMALISED: Final = "number_normalised"
MEASUREMENT_DROPPED: Final = "measurement_dropped"
VALUE_DROPPED: Final = "value_dropped"
PART_DROPPED: Final = "part_dropped"
LABELS_REPAIRED: Final = "labels_repaired"
ERROR_CONVERTED: Final = "error_converted"
TEXT_CLEANED: Final = "text_cleaned"
TEXT_CUT: Final = "text_cut"
SECRET_MASKED: Final = "secret_masked"  # noqa: S105 - a code, no secret
WATERMARK_AHEAD: Final = "watermark_ahead"

FLAGS: Final[dict[str, str]] = {
    BOM_REMOVED: "a UTF-8 byte order mark before the document was removed",
    UUID_CANONICALISED: "a UUID came in another spelling (upper case, braces, no hyphens)",
    CLOCK_SKEW: "occurred_at is more than 5 minutes ahead: kept, but it must not move a watermark or a baseline",
    TIME_TRUNCATED: "digits of a second beyond the microsecond were cut",
    TIME_DROPPED: "an optional time was no RFC 3339 time with an offset, or out of range: null",
    STATUS_NORMALISED: "the status came in another case",
    STATUS_UNKNOWN: "the status was missing or not one of ours: unknown, the original in reported_status",
    NUMBER_NORMALISED: "an integer came as a float (1e3, -0.0), or milliseconds with a fraction: same value, rounded",
    MEASUREMENT_DROPPED: "a number was negative, too large or not a number: null, or its metric is absent",
    VALUE_DROPPED: "an optional field had the wrong type or an unknown choice: back to its default",
    PART_DROPPED: "a part of a declaration (limit, schedule, mute, rule, dataset) was malformed: left out",
    LABELS_REPAIRED: "labels were no map of texts: scalars became text, the rest was left out",
    ERROR_CONVERTED: "the error was neither text nor {type, message}: its JSON became the message",
    TEXT_CLEANED: "a NUL or lone surrogate in a text became U+FFFD",
    TEXT_CUT: "a text was longer than its limit and was cut",
    SECRET_MASKED: "a password, token or key in a text became ***",
    WATERMARK_AHEAD: "a timestamp watermark is more than 5 minutes ahead: kept, age counts from now",
}
