"""Jobs and nodes in words: "h1..h6", "one of L1, L3", "the four jobs on b1", "H's two nodes", "rack A"."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scheduling.cases.document import Case
from scheduling.cases.history import History

NUMBERS = {
    **{"no": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8},
    **{"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "both": 2, "a": 1, "the": 1},
}
NUMBER = r"\d+|no|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


_JOBS_ON = (
    rf"(?:exactly )?(?:all )?(?:the )?(?:({NUMBER}) )?(?:jobs? )?(?:that )?(?:ran |runs? |running )?on (.+)"
)


class PhraseError(Exception):
    """A phrase that no pattern knows."""


@dataclass(frozen=True, slots=True)
class Some:
    """Of these names at least `least` and at most `most` (all of them, if that is both)."""

    names: tuple[str, ...]
    least: int
    most: int

    @classmethod
    def all_of(cls, names: Iterable[str]) -> "Some":
        """Every single one."""
        known = tuple(dict.fromkeys(names))
        return cls(known, len(known), len(known))

    def agrees(self, num: int) -> bool:
        """Whether it may be that many of them."""
        return self.least <= num <= self.most


def number_of(word: str) -> int:
    """A number in figures or in words."""
    return int(word) if word.isdigit() else NUMBERS[word.lower()]


class Scene:
    """What words are about: the names of a case, and what was seen of it."""

    def __init__(self, case: Case, history: History) -> None:
        self.history = history
        self.nodes = {
            str(node.row.name): {"node": str(node.row.name), **node.row.domains} for node in case.nodes
        }
        self.jobs = case.job_names
        self.queues = {str(queue.path) for queue in case.queues} | {"root"}
        self.num_devices = {str(node.row.name): node.row.num_devices for node in case.nodes}
        rows = [event.job.row for event in case.events if event.job is not None]
        self.gpus_milli = {str(row.id): row.accelerators_milli for row in rows}

    def some_jobs(self, text: str) -> Some:
        """Jobs with how many of them: "exactly one of a, b", "both of a and b", "h1..h6"."""
        words = re.sub(r"^(?:exactly |only )", "", text.strip(), flags=re.IGNORECASE)
        found = re.fullmatch(
            rf"(at most |at least )?({NUMBER}|both|all|each|none|any) of (.+)", words, re.IGNORECASE
        )
        if found is None:
            return Some.all_of(self.job_names(words))
        bound, word, rest = found.groups()
        names = self.job_names(rest)
        if word.lower() in ("all", "both", "each"):
            return Some.all_of(names)
        if word.lower() == "any":
            return Some(names, 1, len(names))
        num = 0 if word.lower() == "none" else number_of(word)
        low, high = (0 if bound == "at most " else num), (len(names) if bound == "at least " else num)
        return Some(names, low, high)

    def job_names(self, text: str) -> tuple[str, ...]:
        """Every job named: singly, in a list or a range, or by the nodes on which they ran."""
        words = re.sub(
            r"^(?:all )?(?:the )?(?:jobs?|gangs?) (?!(?:that )?(?:ran |run )?on )", "", text.strip()
        )
        return self._named(words, self._one_job)

    def node_names(self, text: str) -> tuple[str, ...]:
        """Every node named: singly, in a list or a range, by a label ("rack A") or a job ("H's nodes")."""
        words = re.sub(r"^(?:the )?nodes? (?!of |in )", "", text.strip())
        return self._named(words, self._one_node_phrase)

    def nodes_of(self, job: str) -> tuple[str, ...]:
        """The nodes on which a job ran last."""
        ran = [seen.running[job] for seen in self.history.seen.values() if job in seen.running]
        if job not in self.jobs or not ran:
            raise PhraseError(f"the nodes of {job}")
        return tuple(dict.fromkeys(ran[-1]))

    def label_values(self, label: str, nodes: Iterable[str]) -> list[str | None]:
        """What the nodes have under a label."""
        return [self.nodes.get(node, {}).get(label) for node in nodes]

    def _named(self, words: str, one: Callable[[str], tuple[str, ...] | None]) -> tuple[str, ...]:
        """One name or phrase, else its parts: first as much as possible before a comma or an "and"."""
        found = _tried(one, words)
        if found is not None:
            return found
        for joint in reversed(list(re.finditer(r",\s*(?:and\s+)?|\s+and\s+|\s+or\s+", words))):
            try:
                left = self._named(words[: joint.start()], one)
                return (*left, *self._named(words[joint.end() :], one))
            except PhraseError:
                continue
        raise PhraseError(words)

    def _one_job(self, words: str) -> tuple[str, ...] | None:
        if words in self.jobs:
            return (words,)
        return _range(words, self.jobs) or self._jobs_on(words)

    def _jobs_on(self, words: str) -> tuple[str, ...] | None:
        """Jobs that ran on some nodes: when the job came that the words name these nodes by, else first."""
        found = re.fullmatch(_JOBS_ON, words, re.IGNORECASE)
        if found is None:
            return None
        number, place = found.groups()
        owner = re.match(r"(\S+)'s? ", place)
        ran = self.history.before.get(owner[1], {}) if owner else self._at_first()
        nodes = set(self.node_names(place))
        names = tuple(name for name, on in ran.items() if nodes & set(on))
        if number is not None and len(names) != number_of(number):
            raise PhraseError(f"{words!r}: {len(names)} jobs were there")
        return names

    def _at_first(self) -> dict[str, list[str]]:
        """What ran when the first job was submitted."""
        return dict(next(iter(self.history.before.values()), self.history.at(0).running))

    def _one_node_phrase(self, words: str) -> tuple[str, ...] | None:
        if words in self.nodes:
            return (words,)
        owner = re.fullmatch(rf"(?:the )?(\S+?)'s? (?:({NUMBER}) )?nodes?", words)
        owner = owner or re.fullmatch(rf"the (?:({NUMBER}) )?nodes? (?:of|under) (?:job )?(\S+)", words)
        if owner is not None and set(owner.groups()) & self.jobs:
            return self._owned(*owner.groups())
        return _range(words, self.nodes) or self._node_left(words) or self._labelled(words)

    def _owned(self, *groups: str | None) -> tuple[str, ...]:
        job = next(group for group in groups if group in self.jobs)
        nodes = self.nodes_of(job)
        number = next((group for group in groups if group and group != job), None)
        if number is not None and number_of(number) != len(nodes):
            raise PhraseError(f"{job} has {len(nodes)} nodes, not {number}")
        return nodes

    def _node_left(self, words: str) -> tuple[str, ...] | None:
        """Of a domain the one node that no job took by evicting others ("the third node of rack A")."""
        which = "|".join((*ORDINALS, "other", "remaining", "last"))
        found = re.fullmatch(rf"the (?:{which}) node (?:of|in) (.+)", words)
        if found is None:
            return None
        takers = set(self.history.beneficiaries.values())
        taken = {node for job in takers & self.history.first_starts.keys() for node in self.nodes_of(job)}
        left = tuple(node for node in self.node_names(found[1]) if node not in taken)
        if len(left) != 1:
            raise PhraseError(f"{words!r}: {len(left)} nodes are left")
        return left

    def _labelled(self, words: str) -> tuple[str, ...] | None:
        found = re.fullmatch(r"(?:(?:any|the|all) )?(?:nodes? (?:of|in) )?(\w+) (\S+)", words)
        if found is None:
            return None
        label, value = found.groups()
        names = tuple(name for name, labels in self.nodes.items() if labels.get(label) == value)
        return names or None


def _range(words: str, known: Iterable[str]) -> tuple[str, ...] | None:
    """ "h1..h6": all from the first number to the last, each of which has to be known."""
    found = re.fullmatch(r"(.*?)(\d+)\s*(?:\.\.\.?|…|–| to )\s*(.*?)(\d+)", words)
    if found is None or found[3] not in ("", found[1]):
        return None
    names = tuple(f"{found[1]}{number}" for number in range(int(found[2]), int(found[4]) + 1))
    return names if names and set(names) <= set(known) else None


def _tried(one: Callable[[str], tuple[str, ...] | None], words: str) -> tuple[str, ...] | None:
    try:
        return one(words)
    except PhraseError:
        return None


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Each name once."""
    return tuple(dict.fromkeys(names))
