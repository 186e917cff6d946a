from watchline.streams.application import build_application
from watchline.streams.settings import StreamsSettings


def tasks_of(settings: StreamsSettings) -> list[str]:
    return [task.__name__ for task in build_application(settings)._app_tasks]


def test_a_worker_writes_pulses_unless_somebody_else_does() -> None:
    assert tasks_of(StreamsSettings()) == ["pulse"]
    assert tasks_of(StreamsSettings(pulses=False)) == []
