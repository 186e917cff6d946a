"""What is said when no connection to Postgres can be opened."""

from __future__ import annotations

import traceback

import pytest

from watchline.consumers.database import connect
from watchline.schemas.errors import Misconfigured


@pytest.mark.parametrize("password", ["canary#1", "canary/1", "x?canary", "canary[1"])
async def test_a_password_that_breaks_the_url_is_not_shown(password: str) -> None:
    with pytest.raises(Misconfigured, match="can't be used") as caught:
        await connect(f"postgresql://watchline:{password}@127.0.0.1:1/watchline", application="test")

    assert "canary" not in "".join(traceback.format_exception(caught.value))
    assert "%23" in str(caught.value.hint)


async def test_a_url_that_is_none_of_postgres_is_refused_with_the_reason() -> None:
    with pytest.raises(Misconfigured, match="scheme"):
        await connect("mysql://127.0.0.1/watchline", application="test")
