"""Bytes to events: one decoder, used by streams and consumers alike."""

from watchline.schemas.decoding.decoder import check_key, decode

__all__ = ["check_key", "decode"]
