"""The small rules of training, one by one: order, intervals, rates, corpus, operations."""

import math
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ray_runtime.train.cadence import Cadence, Every, parse_every, young_seconds
from ray_runtime.train.environment import read_environment


@settings(deadline=None)  # the first example imports torch
@given(
    samples=st.integers(1, 200),
    batch=st.integers(1, 40),
    worlds=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    seed=st.integers(0, 9),
)
def test_every_sample_once_an_epoch_whatever_the_sizes(
    samples: int, batch: int, worlds: list[int], seed: int
) -> None:
    """The number of ranks may change at any step; counts agree with what is handed out."""
    from ray_runtime.train.order import SampleOrder, share

    order = SampleOrder(num_samples=samples, global_batch=batch, seed=seed)
    for epoch in range(2):
        used: Counter[int] = Counter()
        for index in range(order.steps_per_epoch):
            step, world = epoch * order.steps_per_epoch + index, worlds[index % len(worlds)]
            parts = [share(order.ids(step), rank=rank, world_size=world) for rank in range(world)]
            assert max(map(len, parts)) - min(map(len, parts)) <= 1
            assert sum(map(len, parts)) == order.count(step)
            used.update(i for part in parts for i in part)
        assert used == Counter(range(samples))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("auto", Every()),
        ("20 steps", Every(steps=20)),
        ("1 step", Every(steps=1)),
        ("90s", Every(seconds=90)),
        ("1.5 m", Every(seconds=90)),
        ("2h", Every(seconds=7200)),
    ],
)
def test_intervals_are_read(text: str, expected: Every) -> None:
    """In steps or in time."""
    assert parse_every(text) == expected


@pytest.mark.parametrize("text", ["", "20", "-5s", "0s", "0 steps", "5 days", "often"])
def test_other_intervals_are_refused(text: str) -> None:
    """With what would be right."""
    with pytest.raises(ValueError, match="5m"):
        parse_every(text)


def test_steps_are_counted_from_the_beginning_of_the_run_not_of_the_attempt() -> None:
    """So a resumed run saves at the same steps as an uninterrupted one."""
    cadence = Cadence(Every(steps=10), workers=4, now=0.0, step=13)
    assert next(step for step in range(14, 32) if cadence.due(step, 0.0)) == 20
    cadence.started(20, 0.0)
    assert not cadence.due(29, 1e9)
    assert cadence.due(30, 0.0)


def test_auto_follows_youngs_formula_from_the_measured_cost() -> None:
    """sqrt(2 * cost * MTBF); MTBF falls with the number of workers; between 5 s and 15 min."""
    assert young_seconds(cost=2.0, mean_between_failures=100.0) == 20.0
    cadence = Cadence(Every(), workers=10_000, now=0.0, step=0)
    assert not cadence.due(1, 9.0)
    assert cadence.due(1, 10.0), "the first save comes early, to measure"
    cadence.cost(1.0)
    assert cadence.interval_seconds == pytest.approx(math.sqrt(2 * 1.0 * 8640))
    cadence.cost(1e-9)
    assert cadence.interval_seconds == 5.0
    cadence.cost(1e9)
    assert cadence.interval_seconds == 900.0


def test_a_stated_interval_is_not_changed_by_costs() -> None:
    """What the user says counts."""
    cadence = Cadence(Every(seconds=60), workers=4, now=100.0, step=0)
    cadence.cost(50.0)
    assert not cadence.due(1, 159.0)
    assert cadence.due(1, 160.0)


def test_the_cosine_warms_up_and_ends_at_its_floor() -> None:
    """Never zero at the first step, highest after the warm-up."""
    from ray_runtime.train.schedule import cosine

    factor = cosine(warmup=4, total=20, final=0.1)
    rates = [factor(step) for step in range(20)]
    assert rates[:4] == [0.25, 0.5, 0.75, 1.0]
    assert rates[4] == 1.0
    assert rates[4:] == sorted(rates[4:], reverse=True)
    assert factor(20) == pytest.approx(0.1)
    assert cosine(warmup=10, total=1, final=0.1)(0) == 1.0


def test_the_corpus_is_the_same_for_all_and_its_splits_share_no_file(tmp_path: Path) -> None:
    """Order by name, packages and tests left out, every twentieth file held out."""
    from ray_runtime.train.corpus import ByteWindows, load_corpus

    root = tmp_path / "lib"
    for number in range(40):
        path = root / f"pack{number % 3}" / f"m{number:02}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {number:02}")
    for folder in ("test", "site-packages"):
        (root / folder).mkdir()
        (root / folder / "x.py").write_text("left out")
    cache = tmp_path / "cache"
    cache.mkdir()
    train, held = (
        bytes(load_corpus(split, root=root, cache=cache).tolist()).decode().split("\0")
        for split in ("train", "validation")
    )
    assert (len(train), len(held)) == (38, 2)
    assert set(train).isdisjoint(held)
    assert train[0] == "text of 00"
    assert "left out" not in train + held
    assert sorted(path.suffix for path in cache.iterdir()) == [".bin", ".bin", ".lock", ".lock"]
    windows = ByteWindows(load_corpus("train", root=root, cache=cache), context=8)
    inputs, targets = windows.fetch([0, len(windows) - 1])
    assert bytes(inputs[0].tolist()) == b"text of "
    assert bytes(targets[0].tolist()) == b"ext of 0"
    assert targets.shape == (2, 8)


@pytest.mark.parametrize(("layers", "hidden", "heads", "context"), [(2, 64, 4, 32), (4, 128, 4, 128)])
def test_counted_operations_are_within_two_percent_of_the_analytic_number(
    layers: int, hidden: int, heads: int, context: int
) -> None:
    """Or MFU would be a fiction."""
    import torch

    from ray_runtime.train.mfu import flops_per_sample
    from ray_runtime.train.model import Gpt, GptShape, next_token_loss

    shape = GptShape(vocabulary=256, context=context, layers=layers, hidden=hidden, heads=heads)
    batch = torch.randint(0, 256, (2, 3, context))
    counted = flops_per_sample(Gpt(shape), next_token_loss, (batch[0], batch[1]))
    assert counted == pytest.approx(shape.flops_per_token * context, rel=0.02)


def test_the_peak_is_measured_once_and_kept(tmp_path: Path) -> None:
    """A second answer comes from the file; a spoilt file is measured anew."""
    import torch

    from ray_runtime.train.mfu import peak_flops

    cpu = torch.device("cpu")
    first = peak_flops(cpu, torch.float32, cache=tmp_path)
    assert first > 1e8
    assert peak_flops(cpu, torch.float32, cache=tmp_path) == first
    kept = next(tmp_path.iterdir())
    kept.write_text("{}")
    assert peak_flops(cpu, torch.float32, cache=tmp_path) > 1e8


def test_empty_variables_count_as_not_set() -> None:
    """The platform sets GANGLINE_RESUME_FROM to nothing when there is nothing to resume."""
    environment = read_environment({"GANGLINE_RESUME_FROM": "", "RANK": "2", "WORLD_SIZE": "4"})
    assert environment.resume_from is None
    assert (environment.rank, environment.world_size) == (2, 4)
    assert environment.checkpoint_every == "auto"
