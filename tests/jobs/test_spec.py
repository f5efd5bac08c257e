"""Job files: what is understood, and that everything else is refused at once and by path."""

from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.recipe_words import WORDS
from jobs.spec import KEYS, LATER, parse, to_document
from jobs.spec_model import CheckpointRule, JobSpec, Limits, Parallelism, Resources, Topology, Workers
from jobs.spec_scale import members
from jobs.spec_schema import SCHEMA
from ray_runtime.recipe_params import RECIPES, TEMPLATES
from refusals import Invalid


def plain(**changes: Any) -> dict[str, Any]:
    """The least that is a job."""
    return {"name": "n", "run": "true", **changes}


def problems(document: object, **options: Any) -> dict[str, str]:
    """Path to problem of a document that is refused."""
    with pytest.raises(Invalid) as refusal:
        parse(document, **options)
    return {problem.path: str(problem.problem) for problem in refusal.value.details}


def test_the_least_job_has_defaults() -> None:
    """One worker, one accelerator, normal priority, a minute of grace, ten node retries."""
    assert parse(plain()) == JobSpec(
        name="n",
        queue=None,
        priority=200,
        workers=Workers(want=1),
        resources=Resources(accelerators_milli=1000, types=(), cpus_milli=0, memory_bytes=0),
        command="true",
        checkpoint=CheckpointRule(every="auto", keep=3, source=None),
        limits=Limits(max_runtime_seconds=None, grace_seconds=60, retries=0, node_retries=10),
    )


def test_a_full_job_is_understood() -> None:
    """Every supported key."""
    document = {
        "name": "微调 7B 第一次",
        "queue": "research/nlp",
        "priority": "high",
        "workers": {"min": 4, "max": 16, "want": 8},
        "parallelism": {"data": "auto"},
        "resources": {"accelerators": 2, "types": ["h100", "npu-910b"], "cpus": 2.5, "memory": "8GiB"},
        "topology": {"job": {"within": "rack", "preferred": True}},
        "code": "0b0b6a0e-5f5b-4a3e-8c57-3f1f1e1d1c1b",
        "recipe": "gpt-pretrain",
        "params": {"steps": 1000},
        "environment": {"variables": {"A": "b", "N": 3}},
        "checkpoint": {"every": "5m", "keep": 2, "from": "7"},
        "limits": {
            **{"max_runtime": "12h", "grace": "30s", "retries": 3, "node_retries": 0, "concurrent": 2},
        },
        "depends_on": ["0b0b6a0e-5f5b-4a3e-8c57-3f1f1e1d1c1b"],
        "array": {"seed": [1, 2, 3]},
    }
    assert set(document) | {"run"} == set(KEYS)
    assert parse(document, levels=("zone", "rack")) == JobSpec(
        name="微调 7B 第一次",
        queue="research/nlp",
        priority=300,
        workers=Workers(want=8, least=4, most=16),
        parallelism=Parallelism(),
        resources=Resources(
            accelerators_milli=2000, types=("h100", "npu-910b"), cpus_milli=2500, memory_bytes=8 * 2**30
        ),
        topology=Topology(within="rack", preferred=True),
        code="0b0b6a0e-5f5b-4a3e-8c57-3f1f1e1d1c1b",
        recipe="gpt-pretrain",
        params={"steps": 1000},
        variables={"A": "b", "N": "3"},
        checkpoint=CheckpointRule(every="300s", keep=2, source="7"),
        limits=Limits(max_runtime_seconds=43_200, grace_seconds=30, retries=3, node_retries=0),
        depends_on=("0b0b6a0e-5f5b-4a3e-8c57-3f1f1e1d1c1b",),
        array={"seed": (1, 2, 3)},
        concurrent=2,
    )


def test_all_problems_are_told_at_once() -> None:
    """Each with the path of its key."""
    document = {
        "name": " ",
        "queue": 7,
        "priority": "highest",
        "workers": 0,
        "colour": "red",
        "data": ["corpus"],
        "resources": {
            "accelerators": 1.5,
            "types": ["a", "a", "b c"],
            "cpus": -1,
            "memory": "8 gigs",
            "gpu": 1,
        },
        "topology": {"job": {"within": "galaxy", "preferred": "yes"}, "pipeline": {"within": "nvlink"}},
        "run": "x",
        "recipe": "gpt-pretrain",
        "params": {"stesp": 1},
        "environment": {"variables": {"1A": "x", "RANK": "0", "GANGLINE_X": "y", "B": True}, "pip": ["x"]},
        "checkpoint": {"every": "often", "keep": 0},
        "limits": {"max_runtime": "0s", "grace": "2h", "retries": -1, "node_retries": 1001, "stall": "1m"},
    }
    assert sorted(problems(document, levels=("zone", "rack"))) == [
        "checkpoint.every",
        "checkpoint.keep",
        "colour",
        "data",
        "environment.pip",
        "environment.variables.1A",
        "environment.variables.B",
        "environment.variables.GANGLINE_X",
        "environment.variables.RANK",
        "limits.grace",
        "limits.max_runtime",
        "limits.node_retries",
        "limits.retries",
        "limits.stall",
        "name",
        "params.stesp",
        "priority",
        "queue",
        "resources.accelerators",
        "resources.cpus",
        "resources.gpu",
        "resources.memory",
        "resources.types[1]",
        "resources.types[2]",
        "run",
        "topology.job.preferred",
        "topology.job.within",
        "topology.pipeline",
        "workers",
    ]


def test_a_problem_says_what_was_given_and_what_is_allowed() -> None:
    """So that nobody has to look it up."""
    found = problems(plain(priority="highest", resources={"memory": "8 gigs"}), levels=("rack",))
    assert found["priority"] == "must be one of low, normal, high, urgent or 0 to 1000, not “highest”"
    assert found["resources.memory"] == "must be an amount of memory such as 8GiB or 512MiB, not 8 gigs"


@pytest.mark.parametrize("key", LATER)
def test_what_comes_later_is_named_as_such(key: str) -> None:
    """Not as a typing mistake."""
    assert problems(plain(**{key: "x"})) == {key: "is not available yet"}


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"code": {"git": "https://example.org/x"}}, "code"),
        ({"environment": {"secrets": {"A": "b"}}}, "environment.secrets"),
        ({"topology": {"pipeline": {"within": "rack"}}}, "topology.pipeline"),
        ({"limits": {"stall": "30m"}}, "limits.stall"),
    ],
)
def test_parts_of_a_key_may_come_later_too(changes: dict[str, Any], path: str) -> None:
    """By their own path."""
    assert "not available yet" in problems(plain(**changes))[path]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"resources": {"accelerators": 0.5}, "workers": 2}, "resources.accelerators"),
        ({"resources": {"accelerators": 2.5}}, "resources.accelerators"),
        ({"resources": {"accelerators": 0.0005}}, "resources.accelerators"),
        ({"resources": {"accelerators": True}}, "resources.accelerators"),
        ({"resources": {"types": []}}, "resources.types"),
        ({"resources": {"types": "h100"}}, "resources.types"),
        ({"resources": [1]}, "resources"),
        ({"workers": 1.0}, "workers"),
        ({"workers": True}, "workers"),
        ({"workers": 16_385}, "workers"),
        ({"workers": {"max": 4}}, "workers.min"),
        ({"workers": {"min": 2}}, "workers.max"),
        ({"workers": {"min": 4, "max": 2}}, "workers.max"),
        ({"workers": {"min": 2, "max": 4, "want": 5}}, "workers.want"),
        ({"workers": {"min": 1, "max": 2}, "resources": {"accelerators": 0.5}}, "resources.accelerators"),
        ({"workers": 6, "parallelism": {"tensor": 4}}, "workers"),
        ({"workers": {"min": 2, "max": 8}, "parallelism": {"tensor": 4}}, "workers.min"),
        ({"workers": 8, "parallelism": {"tensor": 2, "data": 2}}, "parallelism.data"),
        ({"workers": 8, "parallelism": {"tensor": 2, "data": "all"}}, "parallelism.data"),
        ({"parallelism": {"zero": 4}}, "parallelism.zero"),
        (
            {"run": None, "recipe": "gpt-pretrain", "workers": 2, "parallelism": {"tensor": 2}},
            "parallelism.tensor",
        ),
        ({"topology": {"tensor": {"within": "nvlink"}}}, "topology.tensor"),
        (
            {"workers": 2, "parallelism": {"tensor": 2}, "topology": {"tensor": {"within": "rack"}}},
            "topology.tensor.within",
        ),
        ({"depends_on": []}, "depends_on"),
        ({"depends_on": ["7"]}, "depends_on[0]"),
        ({"array": {}}, "array"),
        ({"array": {"lr": []}}, "array.lr"),
        ({"array": {"lr": 1}}, "array.lr"),
        ({"array": {"lr": [1, True]}}, "array.lr[1]"),
        ({"array": {"lr": [1, 1]}}, "array.lr[1]"),
        ({"array": {"RANK": [1]}}, "array.RANK"),
        ({"array": {"learning-rate": [1]}}, "array.learning-rate"),
        ({"array": {"a": [*range(40)], "b": [*range(40)]}}, "array"),
        ({"run": None, "recipe": "gpt-pretrain", "array": {"steps": [1, "x"]}}, "params.steps"),
        ({"limits": {"concurrent": 2}}, "limits.concurrent"),
        ({"priority": 1001}, "priority"),
        ({"priority": "200"}, "priority"),
        ({"run": ""}, "run"),
        ({"run": "x" * 16_001}, "run"),
        ({"run": ["python"]}, "run"),
        ({"run": None}, "run"),
        ({"params": {"a": 1}}, "params"),
        ({"run": None, "recipe": "nothing"}, "recipe"),
        ({"run": None, "recipe": "gpt-pretrain", "params": [1]}, "params"),
        ({"run": None, "recipe": "gpt-pretrain", "params": {"steps": "many"}}, "params.steps"),
        ({"topology": {"job": {}}}, "topology.job.within"),
        ({"environment": {"variables": ["A"]}}, "environment.variables"),
        ({"environment": {"variables": {"A": "x" * 16_001}}}, "environment.variables.A"),
        ({"checkpoint": {"every": 0}}, "checkpoint.every"),
        ({"checkpoint": {"every": "0s"}}, "checkpoint.every"),
        ({"limits": {"max_runtime": True}}, "limits.max_runtime"),
        ({"name": 7}, "name"),
        ({"name": None}, "name"),
    ],
)
def test_one_wrong_value_is_one_problem(changes: dict[str, Any], path: str) -> None:
    """At its path, and nowhere else."""
    assert list(problems(plain(**changes))) == [path]


@pytest.mark.parametrize(
    ("given_name", "is_accepted"),
    [
        ("微调 7B 第一次", True),
        ("实验🚀-Ä", True),
        ("a/../../b", True),
        ("[x] 100% done?#frag", True),
        ("<b onmouseover=alert(1)>n</b>", True),
        ("=1+1", True),
        ("👩\u200d🔬", True),
        ("全角\u3000空格", True),
        ("x" * 120, True),
        ("字" * 300, False),
        ("   ", False),
        ("\u3000", False),
        ("a\nb", False),
        ("a\x00b", False),
        ("a\u202eb", False),
        ("a\ud800", False),
        ("", False),
    ],
)
def test_names_are_any_printable_text(given_name: str, is_accepted: bool) -> None:
    """Kept letter for letter, or refused with the rule."""
    if is_accepted:
        assert parse(plain(name=given_name)).name == given_name
    else:
        assert "name" in problems(plain(name=given_name))


@pytest.mark.parametrize(
    ("every", "kept"),
    [(100, "100 steps"), ("100 steps", "100 steps"), ("1 step", "1 steps"), ("5m", "300s"), ("auto", "auto")],
)
def test_checkpoint_intervals_have_three_forms(every: object, kept: str) -> None:
    """Steps, a duration, or auto."""
    assert parse(plain(checkpoint={"every": every})).checkpoint.every == kept


def test_tensor_groups_stay_together_unless_that_is_a_wish() -> None:
    """Copies of the model stay whole in every size; a group has as many workers as the tensor degree."""
    sizes = {"workers": {"min": 8, "max": 24}, "parallelism": {"tensor": 2, "pipeline": 2, "expert": 2}}
    spec = parse(plain(**sizes))
    assert spec.parallelism is not None
    assert (spec.parallelism.step_workers, spec.group_workers) == (8, 2)
    wish = parse(plain(**sizes, topology={"tensor": {"within": "hccs", "preferred": True}}))
    assert wish.group_workers == 1
    assert parse(plain()).group_workers == 1


def test_an_array_is_one_job_for_each_combination() -> None:
    """Variables of a command, parameters of a recipe; each is an ordinary job of its own."""
    of_command = parse(plain(array={"lr": [1e-4, 3e-4], "seed": [1, 2]}, limits={"concurrent": 3}))
    jobs = members(of_command)
    assert [values for values, _spec in jobs] == [
        {"lr": lr, "seed": seed} for lr in (1e-4, 3e-4) for seed in (1, 2)
    ]
    assert (jobs[0][1].name, jobs[0][1].variables) == ("n [lr=0.0001, seed=1]", {"lr": "0.0001", "seed": "1"})
    assert all(not spec.array and spec.concurrent is None for _values, spec in jobs)
    of_recipe = parse({"name": "x" * 120, "recipe": "gpt-pretrain", "array": {"steps": [5, 7]}})
    assert [spec.params for _values, spec in members(of_recipe)] == [{"steps": 5}, {"steps": 7}]
    assert members(of_recipe)[0][1].name == "x" * 120


@pytest.mark.parametrize("document", [None, [], "x", 7, True, {}])
def test_what_is_no_job_at_all_is_refused(document: object) -> None:
    """Also an empty mapping: a name and a command are required."""
    assert problems(document)


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (plain(run="a\x00b"), "run"),
        (plain(environment={"variables": {"A": "\ud800"}}), "environment.variables.A"),
        (plain(params={"a": float("nan")}), "params.a"),
        (plain(params={"a": [1, {"b": 2**53 + 1}]}), "params.a[1].b"),
        (plain(params={"a": object()}), "params.a"),
        ({1: "x"}, ""),
        ({"a\x00": "x"}, ""),
    ],
)
def test_what_the_database_cannot_keep_is_refused_by_path(document: object, path: str) -> None:
    """Anywhere in the document."""
    assert path in problems(document)


def test_a_document_that_is_too_deep_or_too_large_is_refused() -> None:
    """Without being walked to its end."""
    deep: Any = 1
    for _level in range(30):
        deep = [deep]
    assert problems(plain(params={"a": deep}))
    assert problems(plain(params={"a": [0] * 30_000}))


def test_problems_never_carry_what_cannot_be_shown() -> None:
    """Neither in paths nor in quotes: an answer has to be written somewhere."""
    found = problems({"name": "n", "run": "true", "k\ud800\n": 1, "queue": "x" * 500})
    for path, problem in found.items():
        (path + problem).encode()
        assert len(problem) < 300


def test_every_sentence_about_recipes_is_translated() -> None:
    """The runtime's templates and ours are the same."""
    assert set(WORDS) == set(TEMPLATES)


_names = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=30)
_specs = st.builds(
    JobSpec,
    name=_names,
    queue=st.none() | st.just("a/b"),
    priority=st.integers(0, 1000),
    workers=st.builds(Workers, want=st.integers(1, 16_384))
    | st.builds(Workers, want=st.just(4), least=st.integers(1, 4), most=st.integers(4, 16_384)),
    resources=st.builds(
        Resources,
        accelerators_milli=st.integers(0, 1024).map(lambda count: count * 1000),
        types=st.lists(st.sampled_from(["h100", "a100", "npu-910b"]), unique=True).map(tuple),
        cpus_milli=st.integers(0, 1_024_000),
        memory_bytes=st.integers(0, 2**50),
    ),
    topology=st.none() | st.builds(Topology, within=st.just("rack"), preferred=st.booleans()),
    code=st.none() | st.just("x"),
    command=st.text(st.characters(categories=["L", "Z"]), min_size=1, max_size=20).filter(str.strip),
    variables=st.dictionaries(st.sampled_from(["A", "B_1"]), _names),
    checkpoint=st.builds(
        CheckpointRule,
        every=st.just("auto")
        | st.integers(1, 10**9).map("{} steps".format)
        | st.integers(1, 10**6).map("{}s".format),
        keep=st.integers(1, 1000),
        source=st.none() | st.just("y"),
    ),
    limits=st.builds(
        Limits,
        max_runtime_seconds=st.none() | st.integers(1, 10**6),
        grace_seconds=st.integers(0, 3600),
        retries=st.integers(0, 100),
        node_retries=st.integers(0, 1000),
    ),
)


@given(_specs)
def test_a_stored_document_means_the_same(spec: JobSpec) -> None:
    """What is kept of a job, and what a clone submits, is the job."""
    document = to_document(spec)
    assert parse(document) == spec
    assert to_document(parse(document)) == document


@given(_specs)
def test_what_is_accepted_fits_the_schema(spec: JobSpec) -> None:
    """The published schema never refuses a good job."""
    jsonschema.validate(to_document(spec), SCHEMA)


_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["8GiB", "12h", "normal", "gpt-pretrain", "auto", "rack", "a"])
)
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
_keys = st.sampled_from(
    [
        *KEYS,
        *LATER,
        "job",
        "within",
        "preferred",
        "variables",
        "every",
        "keep",
        "from",
        "grace",
        "memory",
        "cpus",
    ]
)
_documents = st.dictionaries(_keys, _values | st.dictionaries(_keys, _values, max_size=5), max_size=8)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(_documents)
def test_any_document_is_a_job_or_refused(document: dict[str, Any]) -> None:
    """No other outcome; and what is a job is one for the schema too, and can be stored and read back."""
    try:
        spec = parse(document)
    except Invalid as refusal:
        assert refusal.details
        assert all(str(problem.problem).encode() for problem in refusal.details)
        return
    jsonschema.validate(_without_nulls(document), SCHEMA)
    assert parse(to_document(spec)) == spec


def _without_nulls(value: Any) -> Any:
    """A key given as null counts as left out; JSON Schema cannot say that in one place."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value


def test_the_schema_is_one() -> None:
    """Itself valid, with the keys and recipes that the parser knows."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["properties"]) == set(KEYS)
    assert set(SCHEMA["properties"]["recipe"]["enum"]) == set(RECIPES)
