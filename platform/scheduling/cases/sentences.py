"""Sentences of a case that must hold: at every instant of a window (`always`) or at one moment (`note`).

A sentence is one or more clauses, joined by a semicolon, an "and" or a comma, each of a pattern in `CLAUSES`.
"""

import re
from collections.abc import Mapping

from scheduling.cases.clauses import CLAUSES, Moment
from scheduling.cases.groups import NUMBER, PhraseError, Scene
from scheduling.cases.history import Seen

FOREVER = 1 << 60
_UNIT = "(?:running )?(?:pods?|devices?|gpus?)"
_AMOUNT = rf"(?:{NUMBER}) {_UNIT}"
SIGNS: Mapping[str, str] = {  # words that stand for a comparison, not at the beginning of a clause
    r"(?<=\S )(?:(?:is|are|stays?) )?(?:never (?:more than|above)|at most|(?:not|no) more than) ": "<= ",
    r"(?<=\S )(?:(?:is|are|stays?) )?(?:never (?:less than|below)|at least|(?:not|no) less than) ": ">= ",
    r"(?<=\S )(?:never exceeds?|(?:does|do) not exceed) ": "<= ",
    r"(?<=\S )never (?:has|have|holds?|uses?|runs?) more than ": "has <= ",
    r"(?<=\S )never (?:has|have|holds?|uses?|runs?) (?:less|fewer) than ": "has >= ",
    rf"(?<=\S )exactly (?={_AMOUNT})": "= ",
    r"\b(?:equals?|(?:is|are) equal to|(?:is|are) exactly) ": "= ",
    r"(?<=\)) (?:is|stays|remains)(?: at)? (?=\d)": " = ",
    r" at (?:any|every|all) (?:time|times|moment|instant)$": "",
    "\u2264": "<=",
    "\u2265": ">=",
}
_WHILE = "(?:while|whenever|when|as long as)"
_START_OF = r"\b(?P<when>before|until|after|from|once) (?P<job>\S+) (?:starts|has started|runs)\b"
_SECOND = r"(?:t ?= ?|second )?"
_WINDOWS = (  # the second of them begins, and that before which it ends
    rf"\b(?:between|from) {_SECOND}(?P<a>\d+) (?:and|to|until|till) {_SECOND}(?P<b>\d+)\b(?! {_UNIT})",
    rf"\b(?:before|until|till|up to) {_SECOND}(?P<b>\d+)",
    rf"\b(?:after|from|since) {_SECOND}(?P<a>\d+)(?: on(?:wards?)?)?",
    r"\bat t ?= ?(?P<at>\d+)",
)


def always_problem(scene: Scene, text: str, *, end: int) -> tuple[int, str] | None:
    """The first moment at which the sentence does not hold, if there is one. `end`: where the case ends."""
    start, until, sentence = _window(scene, text)
    condition, consequence = _condition(sentence)
    moments = list(scene.history.between(start, min(until, end + 1)))
    if not moments:
        raise PhraseError(f"{text}: there is no such time")
    for seen in moments:
        is_due = _all_hold(Moment(scene, seen), _clauses(condition))
        does_hold = _all_hold(Moment(scene, seen, is_new=seen.t >= start), _clauses(consequence))
        if is_due and not does_hold:
            return seen.t, f"does not hold: {text}"
    return None


def holds(scene: Scene, seen: Seen, sentence: str) -> bool:
    """Whether every clause holds. `PhraseError` if one of them matches no pattern."""
    return _all_hold(Moment(scene, seen), _clauses(sentence))


def times_in(sentence: object) -> list[int]:
    """The seconds that a sentence speaks of."""
    return [int(t) for t in re.findall(r"\bt ?= ?(\d+)", str(sentence))]


def _window(scene: Scene, text: str) -> tuple[int, int, str]:
    """From and until when, and the sentence without that. A job's first start is a time, too."""
    text = re.sub(_START_OF, lambda found: _with_time(scene, found), text)
    for pattern in _WINDOWS:
        found = re.search(pattern, text, re.IGNORECASE)
        if found is not None:
            times = {name: int(t) for name, t in found.groupdict().items() if t is not None}
            at = times.get("at")
            sentence = (text[: found.start()] + text[found.end() :]).strip(" ,:")
            if at is not None:
                return at, at + 1, sentence
            return times.get("a", 0), times.get("b", FOREVER), sentence
    return 0, FOREVER, text


def _with_time(scene: Scene, found: re.Match[str]) -> str:
    """ "before H starts" as "before t=70"."""
    started = scene.history.first_starts.get(found["job"])
    if found["job"] not in scene.jobs or (started is None and found["when"] not in ("before", "until")):
        raise PhraseError(found[0])
    return f"{found['when'].replace('once', 'after')} t={FOREVER if started is None else started}"


def _condition(sentence: str) -> tuple[str, str]:
    """ "while H waits, n1 runs nothing": the condition ("" is none), and what has to hold under it."""
    first = re.fullmatch(rf"{_WHILE} ([^,]+), (.+)", sentence, re.IGNORECASE)
    last = re.fullmatch(rf"(.+?),? {_WHILE} (.+)", sentence, re.IGNORECASE)
    if first is not None:
        return first[1], first[2]
    return ("", sentence) if last is None else (last[2], last[1])


def _clauses(sentence: str) -> list[str]:
    words = re.sub(r"\s+", " ", sentence.strip().rstrip("."))
    return [_with_signs(clause.strip()) for clause in words.split(";") if clause.strip()]


def _with_signs(clause: str) -> str:
    for words, sign in SIGNS.items():
        clause = re.sub(words, sign, clause, flags=re.IGNORECASE)
    return clause


def _holds(moment: Moment, clause: str) -> bool:
    """The clause as one pattern, else its halves at some "and" or comma that both are understood."""
    others = moment.others
    for pattern, rule in CLAUSES.items():
        found = re.fullmatch(pattern, clause, re.IGNORECASE)
        if found is None:
            continue
        try:
            return rule(moment, found)
        except PhraseError:
            moment.others = others
    for joint in re.finditer(r",? and |, (?:but )?| but ", clause):
        try:
            return _all_hold(moment, [clause[: joint.start()], clause[joint.end() :]])
        except PhraseError:
            continue
    raise PhraseError(clause)


def _all_hold(moment: Moment, clauses: list[str]) -> bool:
    """Each is asked, even if one before does not hold: all have to be understood."""
    answers = [_holds(moment, clause) for clause in clauses]
    return all(answers)
