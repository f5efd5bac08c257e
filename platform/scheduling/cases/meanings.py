"""Reasons by meaning: a case may use other words than the engine for the same thing."""

import re

from scheduling.model import Reason, ReasonCode

_OTHER_WORDS: dict[ReasonCode, tuple[str, ...]] = {
    ReasonCode.NEVER_FITS: ("never", "impossible", "infeasible", "unsatisfiable", "too_large", "cannot_fit"),
    ReasonCode.OVER_LIMIT: ("above_limit", "exceeds_limit", "beyond_limit", "limit_exceeded"),
    ReasonCode.WAITS_JOB: ("waits_for_job", "dependency", "depends_on", "after"),
    ReasonCode.ARRAY_CAP: ("array", "array_limit", "cap"),
    ReasonCode.LIMIT_NOW: ("at_limit", "limit", "limit_reached", "quota", "limit_used_up", "quota_exhausted"),
    ReasonCode.WAITS_VICTIMS: (
        "waits_for_victims",
        "waiting_for_victims",
        "victims",
        "preempting",
        "evicting",
    ),
    ReasonCode.KEPT_FOR_OTHER: ("held", "kept", "reserved", "held_for_other", "reservation"),
    ReasonCode.IN_ORDER: ("order", "strict_order", "strict", "out_of_order", "behind"),
    ReasonCode.FRAGMENTED: ("fragmentation", "no_placement", "scattered"),
    ReasonCode.SHARE: ("fair_share", "guarantee", "over_share", "above_share"),
    ReasonCode.NO_CAPACITY: ("capacity", "insufficient", "full", "no_devices", "not_enough"),
}
_CODES = {word: code for code, words in _OTHER_WORDS.items() for word in (code.value, *words)}


def code_meant(word: str) -> ReasonCode | None:
    """The engine's code for a word, or None if it is none for a reason."""
    return _CODES.get(re.sub(r"[^a-z]+", "_", word.lower()).strip("_"))


def reason_problem(reason: Reason | None, wanted: object) -> str | None:
    """How a reason differs from the expected one: a word, "word: detail", or an object of such values."""
    if not isinstance(wanted, str | dict):
        return f"a reason is a text or an object, not {wanted!r}"
    parts = (
        re.split(r"[\s:(]+", wanted.rstrip(")"), maxsplit=1)
        if isinstance(wanted, str)
        else [*wanted.values()]
    )
    word, *details = map(str, parts)
    code = code_meant(word)
    if code is None:
        return f"{word!r} is not known as a reason"
    if reason is None:
        return f"it has no reason, expected {word}"
    said = {str(value) for value in reason.params.values()}
    missing = [detail for detail in details if detail not in said]
    if reason.code is not code or missing:
        numbers = ", ".join(f"{name} {value}" for name, value in reason.params.items())
        return f"the reason is {reason.code} ({numbers}), expected {' '.join(map(str, parts))}"
    return None
