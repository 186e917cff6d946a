"""Labels, metadata and counts that no JSON can hold, or whose text raises."""

from typing import Any

from harm.reporting import orders


class Broken:
    """Has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


endless: dict[str, Any] = {}
endless["self"] = endless
values: dict[str, Any] = {
    "broken": Broken(), "function": print, "bytes": b"\xff", "surrogate": "\ud800", "nan": float("nan"), "set": {1, 2},
    "endless": endless, "generator": (number for number in range(3)), "huge": "x" * 3_000_000, "none": None,
}  # fmt: skip
with orders.run(labels=values, metadata=values) as run:
    run.label(**values)
    run.note(**values, items=list(range(1_000_000)))
    for value in values.values():
        run.add(inserts=value)
        run.metric("metric", value)
print(sorted(values), next(values["generator"]))
