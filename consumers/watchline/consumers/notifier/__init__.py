"""Takes alerts from the outbox in Postgres to Slack, or to the terminal."""

from watchline.consumers.notifier.service import run
from watchline.consumers.notifier.settings import NotifierSettings

__all__ = ["NotifierSettings", "run"]
