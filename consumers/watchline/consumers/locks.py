"""The advisory locks of this package's own, in one place: two that share a number would wait for each other.

Any numbers will do, the same ones in every version.
"""

from __future__ import annotations

MIGRATIONS = 7_226_924_001
ANCESTRY = 7_226_924_002
ANCESTRY_REBUILT = 7_226_924_003  # a rebuild fills a schema of its own, and shares no edge with the sinks
REBUILD = 7_226_924_004
PRUNE = 7_226_924_006  # 005 guards the marks of days; migration 0013 names it
CLAIM = 0x77_6C_61_6C_65_72_74  # "wlalert": one notifier claims at a time, so a group has one sender
WATCH = 0x77_6C_77_61_74_63_68  # "wlwatch": one notifier at a time changes the incident about ingestion
