"""Secrets in texts: exceptions carry connection strings and tokens, which must reach no table, log or channel.

Every repetition is bounded or possessive, so that no text makes a pattern slow.
"""

from __future__ import annotations

import re

MASK = "***"
SECRET_NAME = r"password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key(?:[_-]?id)?|private[_-]?key"
UNMASKED = r"(?!\*\*\*)"
VALUE = r"""(?:"[^"]{1,512}"?|'[^']{1,512}'?|[^\s,;&"'<>]{1,512})"""

PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[^-]|-(?!----END))*+(?:-----END[A-Z -]{0,60})?"
        ),
        MASK,
    ),
    (re.compile(rf"""(://[^\s/@:"'<>]{{0,128}}:){UNMASKED}[^\s"'<>]{{1,256}}@"""), rf"\1{MASK}@"),
    (re.compile(rf"(?i)\b(bearer|authorization: *basic)( +){UNMASKED}[\w.~+/=-]{{6,}}+"), rf"\1\2{MASK}"),
    (re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"), MASK),
    (re.compile(r"\beyJ[\w-]{5,}+\.[\w-]{2,}+\.[\w-]*+"), MASK),
    (re.compile(r"\b(?:xox[abprs]-[\w-]{10,}+|gh[pousr]_\w{20,}+)"), MASK),
    (re.compile(r"(hooks\.slack\.com/services/)[\w/-]{8,}+"), rf"\1{MASK}"),
    (re.compile(rf"(?i)({SECRET_NAME})(['\"]?[ ]?=[ ]?){UNMASKED}{VALUE}"), rf"\1\2{MASK}"),
    (re.compile(rf"(?i)({SECRET_NAME})(['\"][ ]?:[ ]?){UNMASKED}{VALUE}"), rf"\1\2{MASK}"),
    (re.compile(rf"(?i)(password|passwd)(: ?){UNMASKED}{VALUE}"), rf"\1\2{MASK}"),
)


def may_hold_secret(text: str) -> bool:
    """A cheap test that lets most short texts pass: every secret we know has one of these marks."""
    return len(text) >= 20 or "=" in text or ":" in text or " " in text


def mask_secrets(text: str) -> str:
    """`text` with what looks like a password, token or key replaced by `***`; masking twice changes nothing."""
    if not may_hold_secret(text):
        return text
    for pattern, replacement in PATTERNS:
        text = pattern.sub(replacement, text)
    return text
