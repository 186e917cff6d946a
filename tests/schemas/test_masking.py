"""Which texts hold a secret, and that masking is quick and leaves the rest readable."""

from __future__ import annotations

import pytest

from watchline.schemas.decoding.reading import Reading
from watchline.schemas.decoding.texts import clean_free_text
from watchline.schemas.limits import EARLIEST, MAX_TEXT
from watchline.schemas.masking import mask_secrets

MASKED = {
    "postgresql://svc:Sup3rS3cret@db:5432/x refused": "postgresql://svc:***@db:5432/x refused",
    "amqp://:pa/ss@w0rd@host": "amqp://:***@host",
    "Authorization: Bearer abc.def-ghi": "Authorization: Bearer ***",
    "authorization: Basic dXNlcjpwYXNz": "authorization: Basic ***",
    "key AKIAIOSFODNN7EXAMPLE denied": "key *** denied",
    "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl ok": "jwt *** ok",
    "password=hunter2 and more": "password=*** and more",
    "PGPASSWORD=hunter2 psql": "PGPASSWORD=*** psql",
    "?api_key=abc&page=2": "?api_key=***&page=2",
    "token = 'a b c', next": "token = ***, next",
    '{"client_secret": "abc", "id": 1}': '{"client_secret": ***, "id": 1}',
    "password: hunter2": "password: ***",
    "aws_secret_access_key=wJalrXUtnFEMI/K7MDENG": "aws_secret_access_key=***",
    "xoxb-1234567890-abcdefghij gone": "*** gone",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789": "***",
    "POST hooks.slack.com/services/T0/B0/XXXXXXXX": "POST hooks.slack.com/services/***",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- after": "*** after",
    "-----BEGIN PRIVATE KEY-----\nMIIE cut": "***",
}
PLAIN = (
    "Unexpected token: < at line 1",
    "max_tokens=5 reached",
    "could not connect to postgresql://db:5432/x",
    "http://host:8080/path",
    "mail to a@b.example: no route",
    "basic configuration is missing",
    "the bearer of bad news",
    "key error: 'orders'",
    "2026-11-30T11:59:00Z",
    "x" * 100,
)
HOSTILE = ("://:" * 4096, "://" + "a" * 16000, "password=" * 1800, "-----BEGIN PRIVATE KEY" * 700, "token='" * 2300)


@pytest.mark.parametrize("text", MASKED)
def test_a_secret_is_masked_and_the_rest_stays_readable(text: str) -> None:
    assert mask_secrets(text) == MASKED[text]


@pytest.mark.parametrize("text", [*MASKED, *HOSTILE])
def test_masking_twice_changes_nothing(text: str) -> None:
    once = mask_secrets(text)

    assert mask_secrets(once) == once


@pytest.mark.parametrize("text", PLAIN)
def test_a_text_without_a_secret_is_left_alone(text: str) -> None:
    assert mask_secrets(text) == text


@pytest.mark.parametrize("lead", range(0, 40, 7))
def test_a_secret_at_the_cut_is_masked(lead: int) -> None:
    secret = "password=Sup3rS3cretSup3rS3cret"

    for start in (MAX_TEXT - lead, 2 * MAX_TEXT - lead):
        text = clean_free_text("x" * start + " " + secret + " " + "y" * MAX_TEXT, Reading(EARLIEST))
        assert "Sup3r" not in text
        assert len(text) <= MAX_TEXT


def test_a_secret_at_the_end_of_what_is_looked_at_is_not_shown_by_the_masks_before_it() -> None:
    masked_away = ("password=" + "p" * 500 + " ") * 32
    dsn = "postgresql://svc:Sup3rS3cret" + "s" * 200 + "@db"
    text = masked_away[: 2 * MAX_TEXT - 50] + " " + dsn + " " + "y" * MAX_TEXT

    assert "Sup3r" not in clean_free_text(text, Reading(EARLIEST))


def test_a_long_text_is_cut_at_the_limit_and_not_before() -> None:
    reading = Reading(EARLIEST)

    text = clean_free_text("line\n" * 50_000, reading)

    assert len(text) == MAX_TEXT
    assert text.endswith("[cut]")
    assert reading.noted() == ("text_cut",)
    assert clean_free_text("x" * MAX_TEXT, Reading(EARLIEST)) == "x" * MAX_TEXT
