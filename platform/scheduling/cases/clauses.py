"""What a clause may say of jobs, nodes and queues at one moment: a pattern each, and its rule."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scheduling.cases.groups import NUMBER, PhraseError, Scene, Some, number_of
from scheduling.cases.history import Seen

COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "<=": lambda one, other: one <= other,
    "<": lambda one, other: one < other,
    ">=": lambda one, other: one >= other,
    ">": lambda one, other: one > other,
    "=": lambda one, other: one == other,
    "==": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
}
OPERATORS = "|".join(sorted(COMPARE, key=len, reverse=True))


@dataclass(slots=True)
class Moment:
    """A clause is asked about this; `others` are those that "the other" refers to."""

    scene: Scene
    seen: Seen
    is_new: bool = True  # it began inside the window of the sentence
    subject: str = ""  # of the clause before, for "usage(Q) <= 4 and equals ..."
    others: tuple[str, ...] = ()

    def some(self, text: str) -> Some:
        """Jobs in words; "the other" are those of the clause before of which it did not hold."""
        words = re.sub(r"^(?:all )?(?:the )?(?:running )?pods of ", "", text.strip(), flags=re.IGNORECASE)
        joint = re.match(r"the others?(?: (?:one|ones|job|jobs))?(?:(?:,| and) (.+))?$", words)
        if joint is None:
            return self.scene.some_jobs(words)
        if not self.others:
            raise PhraseError(text)
        return Some.all_of((*self.others, *(self.scene.job_names(joint[1]) if joint[1] else ())))

    def holds_of(self, text: str, rule: Callable[[str], bool]) -> bool:
        """Whether the rule holds of as many of these jobs as the words say."""
        some = self.some(text)
        true = [name for name in some.names if rule(name)]
        self.others = tuple(name for name in some.names if name not in true)
        return some.agrees(len(true))


Rule = Callable[[Moment, re.Match[str]], bool]


def _runs_throughout(moment: Moment, found: re.Match[str]) -> bool:
    """From its first start to its end it holds devices, and it is never evicted."""
    return moment.holds_of(found["jobs"], lambda job: _never_stops(moment, job))


def _never_stops(moment: Moment, job: str) -> bool:
    history, t = moment.scene.history, moment.seen.t
    started = history.first_starts.get(job)
    if started is None or history.evictions[job] or history.withdrawals[job]:
        return False
    return t < started or job in moment.seen.running or job not in moment.seen.pending


def _runs(moment: Moment, found: re.Match[str]) -> bool:
    return moment.holds_of(found["jobs"], lambda job: job in moment.seen.running)


def _does_not_run(moment: Moment, found: re.Match[str]) -> bool:
    return moment.holds_of(found["jobs"], lambda job: job not in moment.seen.running)


def _waits(moment: Moment, found: re.Match[str]) -> bool:
    return moment.holds_of(found["jobs"], lambda job: job in moment.seen.pending)


def _does_not_wait(moment: Moment, found: re.Match[str]) -> bool:
    return moment.holds_of(found["jobs"], lambda job: job not in moment.seen.pending)


def _starts(moment: Moment, found: re.Match[str]) -> bool:
    starts = moment.scene.history.first_starts
    return moment.holds_of(found["jobs"], lambda job: moment.is_new and starts.get(job) == moment.seen.t)


def _never_starts(moment: Moment, found: re.Match[str]) -> bool:
    return moment.holds_of(found["jobs"], lambda job: job not in moment.scene.history.first_starts)


def _evicted(moment: Moment, found: re.Match[str]) -> bool:
    return moment.holds_of(found["jobs"], lambda job: moment.scene.history.evictions[job] > 0)


def _not_evicted(moment: Moment, found: re.Match[str]) -> bool:
    return moment.holds_of(found["jobs"], lambda job: moment.scene.history.evictions[job] == 0)


def _nobody_evicted(moment: Moment, _: re.Match[str]) -> bool:
    return not any(moment.scene.history.evictions.values())


def _node_is_idle(moment: Moment, found: re.Match[str]) -> bool:
    nodes = set(moment.scene.node_names(found["nodes"]))
    return not any(nodes & set(on) for on in moment.seen.running.values())


def _nothing_new_on(moment: Moment, found: re.Match[str]) -> bool:
    """No pod is there that was not there before."""
    nodes = set(moment.scene.node_names(found["nodes"]))
    earlier = moment.scene.history.previous(moment.seen) if moment.is_new else None
    return earlier is None or all(
        on.count(node) <= earlier.running.get(job, []).count(node)
        for job, on in moment.seen.running.items()
        for node in nodes
    )


def _runs_on(moment: Moment, found: re.Match[str]) -> bool:
    """It runs, and nowhere else."""
    nodes = set(moment.scene.node_names(found["nodes"]))
    running = moment.seen.running
    return moment.holds_of(found["jobs"], lambda job: bool(running.get(job)) and set(running[job]) <= nodes)


def _stays_on(moment: Moment, found: re.Match[str]) -> bool:
    """Wherever it runs, it is there."""
    nodes = set(moment.scene.node_names(found["nodes"]))
    return moment.holds_of(found["jobs"], lambda job: set(moment.seen.running.get(job, ())) <= nodes)


def _runs_throughout_on(moment: Moment, found: re.Match[str]) -> bool:
    return _runs_throughout(moment, found) and _stays_on(moment, found)


def _never_on(moment: Moment, found: re.Match[str]) -> bool:
    nodes = set(moment.scene.node_names(found["nodes"]))
    return moment.holds_of(found["jobs"], lambda job: not nodes & set(moment.seen.running.get(job, ())))


def _inside_one(moment: Moment, found: re.Match[str]) -> bool:
    """All nodes of a running job have the same value of a label."""
    scene, running = moment.scene, moment.seen.running

    def inside(job: str) -> bool:
        values = set(scene.label_values(found["label"], running.get(job, ())))
        return len(values) <= 1 and None not in values

    return moment.holds_of(found["jobs"], inside)


def _never_together(moment: Moment, found: re.Match[str]) -> bool:
    names = moment.some(found["jobs"]).names
    return sum(name in moment.seen.running for name in names) <= 1


def _has_amount(moment: Moment, found: re.Match[str]) -> bool:
    """Pods or devices of each of these jobs (or of a queue) against a number, or one of two numbers."""
    compare = COMPARE[found["op"]] if found["op"] else COMPARE["="]
    numbers = [number_of(word) for word in re.findall(rf"\b(?:{NUMBER})\b", found["numbers"], re.IGNORECASE)]
    queue = found["jobs"].removeprefix("queue ")
    if queue in moment.scene.queues:
        return any(compare(moment.seen.usage[queue], number) for number in numbers)
    amounts = moment.seen.devices if found["unit"].startswith(("device", "gpu")) else _pods(moment)
    return moment.holds_of(
        found["jobs"], lambda job: any(compare(amounts.get(job, 0), number) for number in numbers)
    )


def _has_between(moment: Moment, found: re.Match[str]) -> bool:
    low, high = number_of(found["low"]), number_of(found["high"])
    amounts = moment.seen.devices if found["unit"].startswith(("device", "gpu")) else _pods(moment)
    return moment.holds_of(found["jobs"], lambda job: low <= amounts.get(job, 0) <= high)


def _pods(moment: Moment) -> dict[str, int | float]:
    return {job: len(nodes) for job, nodes in moment.seen.running.items()}


def _compares(moment: Moment, found: re.Match[str]) -> bool:
    """A chain of sums: "usage(A) + usage(B) <= 4", "2 <= pods(E) <= 4"."""
    parts = [part.strip() for part in re.split(rf"({OPERATORS})", found[0])]
    sides = [_sum(moment, side) for side in parts[::2]]
    moment.subject = parts[0]
    pairs = zip(parts[1::2], sides, sides[1:], strict=False)
    return all(COMPARE[op](one, other) for op, one, other in pairs)


def _compares_again(moment: Moment, found: re.Match[str]) -> bool:
    """ "... and = the running pods of E and W": of what the clause before was about."""
    if not moment.subject:
        raise PhraseError(found[0])
    side = _sum(moment, found["side"])
    return COMPARE[found["op"]](_sum(moment, moment.subject), side)


def _sum(moment: Moment, text: str) -> float:
    return sum(_term(moment, term.strip()) for term in re.split(r" \+ | plus ", text))


def _term(moment: Moment, text: str) -> float:
    """A number, the usage of a queue, or the pods or devices of jobs."""
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        return float(text)
    usage = re.fullmatch(r"(?:the )?usage(?: of |\()(?:queue )?([^()]+?)\)?", text)
    if usage is not None and usage[1] in moment.scene.queues:
        return float(moment.seen.usage.get(usage[1], 0))
    amount = re.fullmatch(r"(?:the )?(?:running )?(pods|devices|gpus)(?: of |\()([^()]+?)\)?", text)
    if amount is None:
        raise PhraseError(text)
    amounts = _pods(moment) if amount[1] == "pods" else moment.seen.devices
    return float(sum(amounts.get(job, 0) for job in moment.scene.job_names(amount[2])))


def _nothing_held_by_waiting(moment: Moment, _: re.Match[str]) -> bool:
    """A job with fewer pods than it needs does not run either, so it holds nothing."""
    seen = moment.seen
    running = {job for job, nodes in seen.running.items() if len(nodes) >= seen.sizes[job][0]}
    return not any(held for job, held in seen.devices.items() if job not in running)


def _nothing_twice(moment: Moment, _: re.Match[str]) -> bool:
    """The running pods of a node take no more devices than it has."""
    held: Counter[str] = Counter()
    for job, on in moment.seen.running.items():
        held.update({node: on.count(node) * moment.scene.gpus_milli[job] for node in on})
    return all(milli <= moment.scene.num_devices[node] * 1000 for node, milli in held.items())


def _no_part_of_a_gang(moment: Moment, _: re.Match[str]) -> bool:
    """Every job that runs has at least the pods that it needs."""
    sizes = moment.seen.sizes
    return all(len(nodes) >= sizes[job][0] for job, nodes in moment.seen.running.items())


def _of_jobs(*verbs: str) -> str:
    return rf"(?P<jobs>.+?) (?:{'|'.join(verbs)})"


_ON = "(?:on|in) (?P<nodes>.+)"
_IN_ONE = r"(?:inside|within|in|on) (?:one|a single|the same) (?P<label>\w+)"
_GOES_ON = "(?:keeps?|stays?) running|goes? on"
_HAS = r"(?:(?:always )?(?:has|have|holds?|runs?|keeps?|uses?)|is|are)"
CLAUSES: Mapping[str, Rule] = {
    rf".*?(?:{OPERATORS}).*": _compares,
    rf"(?P<op>{OPERATORS}) ?(?P<side>.+)": _compares_again,
    _of_jobs(rf"(?:runs?|{_GOES_ON}) (?:throughout|all the time|undisturbed)"): _runs_throughout,
    _of_jobs(_GOES_ON, "(?:is|are) never (?:stopped|disturbed|interrupted)"): _runs_throughout,
    r"(?P<nodes>.+?) (?:runs? nothing|(?:is|are|stays?) (?:idle|empty|free))": _node_is_idle,
    rf"nothing (?:ever )?runs {_ON}": _node_is_idle,
    r"(?P<nodes>.+?) (?:is|are) (?:never|not) used": _node_is_idle,
    rf"(?:nothing|no job|no pod)(?: new)? (?:ever )?(?:starts|is placed|is started) {_ON}": _nothing_new_on,
    _of_jobs(rf"runs? throughout {_ON}"): _runs_throughout_on,
    _of_jobs(rf"runs? {_ON} (?:throughout|all the time)"): _runs_throughout_on,
    _of_jobs(rf"(?:never|(?:do|does) not)(?: runs?| starts?)? {_ON}"): _never_on,
    _of_jobs(rf"(?:always )?(?:stays?|runs?|lies?|is|are) {_IN_ONE}"): _inside_one,
    _of_jobs(rf"(?:always )?(?:stays?|runs? only|only runs?|remains?) {_ON}"): _stays_on,
    _of_jobs(rf"(?:still )?(?:runs?|is|are) {_ON}"): _runs_on,
    _of_jobs(
        r"(?:never runs?|(?:is|are) never running) (?:together|at the same time|at once)"
    ): _never_together,
    _of_jobs(r"(?:still )?(?:runs?|is running|are running)(?: still| on)?"): _runs,
    _of_jobs("(?:has|have|is|are) gone", "(?:does|do) not run", "never runs?", "(?:is|are) not running"): (
        _does_not_run
    ),
    _of_jobs("never starts?", "(?:does|do) not start"): _never_starts,
    _of_jobs("(?:first )?starts?"): _starts,
    _of_jobs("(?:still )?(?:waits?|(?:is|are) (?:waiting|pending)|holds? nothing)"): _waits,
    _of_jobs("(?:is|are) never (?:pending|waiting)", "never waits?"): _does_not_wait,
    r"(?:no job|nobody|nothing|none) (?:is|was) (?:ever )?evicted": _nobody_evicted,
    _of_jobs("(?:is|are|was|were) (?:never|not) evicted"): _not_evicted,
    _of_jobs("(?:is|are|was|were|has been|have been) evicted"): _evicted,
    _of_jobs(
        rf"{_HAS} (?:either )?(?P<op>{OPERATORS})? ?(?P<numbers>(?:{NUMBER})(?: or (?:{NUMBER}))?)"
        r" (?:running )?(?P<unit>pods?|devices?|gpus?)"
    ): _has_amount,
    _of_jobs(
        rf"{_HAS} (?:between )?(?P<low>{NUMBER}) ?(?:and|to|\.\.) ?(?P<high>{NUMBER}) (?:running )?"
        "(?P<unit>pods?|devices?|gpus?)"
    ): _has_between,
    r"no (?:device|node) (?:is|holds|runs) (?:ever )?"
    r"(?:used twice|given twice|overbooked|over-?committed|more than it has)": _nothing_twice,
    r"(?:a|any|every|each) job that (?:(?:is|does) not run(?:ning)?|waits|is pending) holds"
    r" (?:0|no|zero) (?:devices?|gpus?)|(?:pending|waiting) jobs hold (?:0|no|zero|nothing).*": (
        _nothing_held_by_waiting
    ),
    r"no (?:rigid )?gang (?:ever )?(?:runs|holds).* (?:in part|partly|partially)|"
    r"(?:every|each|a) (?:rigid |running )?gang (?:runs|holds|has).*(?:all|whole).*": (_no_part_of_a_gang),
}
