"""Where a job runs, in words: "two different nodes of a1,a2,a3", "n2 and the node of the one evicted job"."""

import re
from collections.abc import Callable, Mapping

from scheduling.cases.groups import NUMBER, PhraseError, Scene, distinct, number_of
from scheduling.cases.history import Seen

Nodes = list[str]
Rule = Callable[["Place", re.Match[str]], bool]


class Place:
    """The nodes of one job at one moment, to be compared with words."""

    def __init__(self, scene: Scene, seen: Seen, job: str) -> None:
        self.scene = scene
        self.seen = seen
        self.job = job
        self.nodes: Nodes = seen.running.get(job, [])

    def agrees(self, text: str) -> bool:
        """Whether the words hold. `PhraseError` if no pattern knows them."""
        words = re.sub(r"\s+", " ", text.strip())
        for pattern, rule in RULES.items():
            found = re.fullmatch(pattern, words, re.IGNORECASE)
            if found is not None:
                return bool(self.nodes) and rule(self, found)
        return bool(self.nodes) and set(self.nodes) == set(self.scene.node_names(words))


def _anywhere(_: Place, __: re.Match[str]) -> bool:
    return True


def _num_pods(place: Place, found: re.Match[str]) -> bool:
    bound, number = found["bound"] or "exactly", number_of(found["number"])
    num = len(place.nodes)
    return {"at least": num >= number, "at most": num <= number, "exactly": num == number}[bound.lower()]


def _pods_between(place: Place, found: re.Match[str]) -> bool:
    return int(found["low"]) <= len(place.nodes) <= int(found["high"])


def _some_nodes_of(place: Place, found: re.Match[str]) -> bool:
    """That many distinct nodes, all among those named."""
    used = set(place.nodes)
    return len(used) == number_of(found["number"]) and used <= set(place.scene.node_names(found["nodes"]))


def _different_nodes(place: Place, found: re.Match[str]) -> bool:
    number = number_of(found["number"]) if found["number"] else len(place.nodes)
    return len(set(place.nodes)) == number


def _pods_on(place: Place, found: re.Match[str]) -> bool:
    """That many of its pods on these nodes; the others elsewhere."""
    nodes = set(place.scene.node_names(found["nodes"]))
    return sum(node in nodes for node in place.nodes) == number_of(found["number"])


def _with_evicted(place: Place, found: re.Match[str]) -> bool:
    """The nodes named and those of the jobs evicted for it, all of them and no other."""
    named = set(place.scene.node_names(found["nodes"])) if found["nodes"] else set()
    victims = [job for job, winner in place.scene.history.beneficiaries.items() if winner == place.job]
    before = place.scene.history.before.get(place.job, {})
    freed = {node for job in victims for node in before.get(job, [])}
    number = number_of(found["number"]) if found["number"] else len(victims)
    return len(victims) == number and bool(victims) and set(place.nodes) == named | freed


def _same_label(place: Place, found: re.Match[str]) -> bool:
    values = set(place.scene.label_values(found["label"], place.nodes))
    return len(values) == 1 and None not in values


def _different_labels(place: Place, found: re.Match[str]) -> bool:
    values = place.scene.label_values(found["label"], distinct(place.nodes))
    return len(values) > 1 and len(set(values)) == len(values) and None not in values


def _not_on(place: Place, found: re.Match[str]) -> bool:
    return not set(place.nodes) & set(place.scene.node_names(found["nodes"]))


def _inside(place: Place, found: re.Match[str]) -> bool:
    return set(place.nodes) <= set(place.scene.node_names(found["nodes"]))


_NODES_OF = "(?:different |distinct )?(?:nodes? )?(?:of|in|from)"
RULES: Mapping[str, Rule] = {
    r"(?:anywhere|any(?: node)?|somewhere)": _anywhere,
    rf"(?:(?P<bound>exactly|at least|at most) )?(?P<number>{NUMBER}) pods?": _num_pods,
    r"(?P<low>\d+) ?(?:\.\.|to|or) ?(?P<high>\d+) pods": _pods_between,
    rf"(?:exactly |any )?(?P<number>{NUMBER}) {_NODES_OF} (?P<nodes>.+)": _some_nodes_of,
    rf"(?:exactly )?(?P<number>{NUMBER}) pods? (?:on|in) (?P<nodes>.+)": _pods_on,
    rf"(?:(?P<nodes>.+?),? and )?the nodes? of the (?:(?P<number>{NUMBER}) )?evicted jobs?": _with_evicted,
    rf"(?:(?P<number>{NUMBER}) )?different nodes": _different_nodes,
    r"(?:all )?(?:in |on |inside |within )?(?:one|a single|the same) (?P<label>\w+)": _same_label,
    r"(?:in |on )?different (?P<label>\w+?)s": _different_labels,
    r"(?:not (?:on|in)|anywhere but|anywhere except|not) (?P<nodes>.+)": _not_on,
    r"(?:any )?(?:only )?(?:inside|within|in|on|any of|nodes of) (?P<nodes>.+)": _inside,
    r"(?:either )?(?P<nodes>\S+ or \S+)": _inside,
    r"(?P<nodes>\w+ \S+)": _inside,
}


def runs_there(scene: Scene, seen: Seen, job: str, wanted: object) -> bool:
    """Whether a job runs on these nodes (a list), with that many pods (a number), or as words say."""
    nodes = seen.running.get(job, [])
    match wanted:
        case bool() | None:
            raise PhraseError(repr(wanted))
        case int():
            return len(nodes) == wanted
        case list():
            return sorted(nodes) == sorted(map(str, wanted))
        case str():
            return Place(scene, seen, job).agrees(wanted)
    raise PhraseError(repr(wanted))
