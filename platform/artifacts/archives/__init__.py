"""Untrusted code archives: read with limits, checked member by member, written again in one form."""

from artifacts.archives.canonical import Canonical, canonicalise
from artifacts.archives.members import Limits

__all__ = ["Canonical", "Limits", "canonicalise"]
