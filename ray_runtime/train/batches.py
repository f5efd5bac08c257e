"""Where a step's batch comes from and how it is cut into micro-batches."""

from collections.abc import Callable, Iterator, Sequence, Sized
from operator import itemgetter
from typing import Any, Protocol, cast, runtime_checkable

import torch
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, default_collate

Batch = Any


@runtime_checkable
class Fetching(Protocol):
    """A data set that builds a whole batch from sample ids at once."""

    def __len__(self) -> int: ...

    def fetch(self, ids: list[int]) -> Batch:
        """The samples of these ids, collated."""


class Source:
    """A user's data seen as: so many samples, and batches for lists of ids.

    A `DataLoader` gives its data set, collate function, workers, whether it shuffles, and its batch size,
    which counts over all ranks; the order itself is ours, or a restart could not go on at the exact sample.
    """

    def __init__(self, data: Any) -> None:
        self._loader = data if isinstance(data, DataLoader) else None
        self._dataset = data.dataset if isinstance(data, DataLoader) else data
        if isinstance(self._dataset, IterableDataset) or not hasattr(self._dataset, "__len__"):
            raise TypeError(
                "data must have a length and an item for every index: streams cannot be resumed exactly"
            )
        if self._loader is not None and self._loader.batch_size is None:
            raise TypeError(
                "data must be a DataLoader with a batch_size; a batch_sampler has an order of its own"
            )

    def __len__(self) -> int:
        return len(cast(Sized, self._dataset))

    @property
    def batch_size(self) -> int | None:
        """The global batch that the loader asks for."""
        return self._loader.batch_size if self._loader is not None else None

    @property
    def shuffle(self) -> bool:
        """Whether the order of the samples is to be mixed."""
        return self._loader is None or isinstance(self._loader.sampler, RandomSampler)

    def batches(self, shares: Iterator[list[int]]) -> Iterator[Batch]:
        """One batch for each list of ids."""
        if isinstance(self._dataset, Fetching):
            return map(self._dataset.fetch, shares)
        if self._loader is not None and self._loader.num_workers > 0:
            return self._with_workers(self._loader, shares)
        return map(self._collated, shares)

    def _collated(self, ids: list[int]) -> Batch:
        collate = cast(
            Callable[[list[Any]], Batch], self._loader.collate_fn if self._loader else default_collate
        )
        return collate([self._dataset[i] for i in ids])

    def _with_workers(self, loader: "DataLoader[Any]", shares: Iterator[list[int]]) -> Iterator[Batch]:
        again: DataLoader[Any] = DataLoader(
            self._dataset,
            batch_sampler=cast(Any, shares),  # any iterable of id lists will do
            num_workers=loader.num_workers,
            collate_fn=loader.collate_fn,
            prefetch_factor=loader.prefetch_factor,
            multiprocessing_context=loader.multiprocessing_context,
            worker_init_fn=loader.worker_init_fn,
        )
        return iter(again)


def count_samples(batch: Batch) -> int:
    """Samples in a batch: the first dimension of its first tensor."""
    first = next(_tensors(batch), None)
    if first is None or first.dim() == 0:
        raise TypeError("a batch must hold a tensor whose first dimension counts the samples")
    return int(first.shape[0])


def micro_batches(batch: Batch, size: int) -> Iterator[Batch]:
    """The batch cut into pieces of `size` samples; the last may be smaller."""
    for start in range(0, count_samples(batch), size):
        yield _mapped(batch, itemgetter(slice(start, start + size)))


def to_device(batch: Batch, device: torch.device) -> Batch:
    """The batch with its tensors on the device."""
    return (
        batch if device.type == "cpu" else _mapped(batch, lambda tensor: tensor.to(device, non_blocking=True))
    )


def _tensors(batch: Batch) -> Iterator[torch.Tensor]:
    if isinstance(batch, torch.Tensor):
        yield batch
    elif isinstance(batch, dict):
        for item in batch.values():
            yield from _tensors(item)
    elif isinstance(batch, Sequence) and not isinstance(batch, str):
        for item in batch:
            yield from _tensors(item)


def _mapped(batch: Batch, change: Callable[[torch.Tensor], torch.Tensor]) -> Batch:
    if isinstance(batch, torch.Tensor):
        return change(batch)
    if isinstance(batch, dict):
        return {key: _mapped(item, change) for key, item in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_mapped(item, change) for item in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(_mapped(item, change) for item in batch)
    return batch
