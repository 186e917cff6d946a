"""Secrets in texts: exceptions carry connection strings and tokens, which must reach no table, log or channel.

Every repetition is bounded, possessive or never gone back for, so that no text makes a pattern slow; and a pattern runs
only where one of its marks stands in the text.
"""

from __future__ import annotations

import re

MASK = "***"
SHORTEST = 20  # a text below it holds no secret that stands alone, only one after "=", ":" or a space
UNMASKED = r"(?!\*\*\*)"
VALUE = r"""(?:"[^"]{1,512}"?|'[^']{1,512}'?|[^\s,;&"'<>]{1,512})"""
NAMES = r"password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key(?:[_-]?id)?|private[_-]?key"
NAME_MARKS = ("passw", "pwd", "secret", "token", "key")

# Marks in lower case, pattern, replacement.
PATTERNS: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    (
        ("private key",),
        # No possessive group: Python 3.11's lost its way behind one, seldom, and left the end of the last line. What
        # follows may be absent, so there is nothing to go back for.
        re.compile(
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*(?:-(?!----END)[^-]*)*(?:-----END[A-Z ]{0,40}-{0,5})?"
        ),
        MASK,
    ),
    (
        ("://",),
        re.compile(rf"""(://[^\s/@:"'<>]{{0,128}}:){UNMASKED}[^\s"'<>]{{1,256}}@"""),
        rf"\1{MASK}@",
    ),
    (
        ("bearer ", "basic "),
        re.compile(rf"(?i)\b(bearer|authorization: {{0,4}}basic)( {{1,4}}){UNMASKED}[\w.~+/=-]{{6,}}+"),
        rf"\1\2{MASK}",
    ),
    (("akia", "asia"), re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"), MASK),
    (("eyj",), re.compile(r"\beyJ[\w-]{10,}+\.[\w-]{5,}+\.[\w-]*+"), MASK),
    (("xox",), re.compile(r"\bxox[abprs]-[\w-]{15,}+"), MASK),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), re.compile(r"\bgh[pousr]_\w{20,}+"), MASK),
    (("hooks.slack.com",), re.compile(r"(hooks\.slack\.com/services/)[\w/-]{8,}+"), rf"\1{MASK}"),
    (NAME_MARKS, re.compile(rf"(?i)({NAMES})(['\"]? ?= ?){UNMASKED}{VALUE}"), rf"\1\2{MASK}"),
    (NAME_MARKS, re.compile(rf"(?i)({NAMES})(['\"] ?: ?){UNMASKED}{VALUE}"), rf"\1\2{MASK}"),
    (("passw",), re.compile(rf"(?i)(password|passwd)(: ?){UNMASKED}{VALUE}"), rf"\1\2{MASK}"),
)


def mask_secrets(text: str) -> str:
    """`text` with what looks like a password, token or key replaced by `***`; masking twice changes nothing."""
    if len(text) < SHORTEST and "=" not in text and ":" not in text and " " not in text:
        return text
    lowered = text.lower()
    for marks, pattern, replacement in PATTERNS:
        for mark in marks:
            if mark in lowered:
                text = pattern.sub(replacement, text)
                break
    return text
