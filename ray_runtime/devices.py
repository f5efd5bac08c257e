"""How each vendor's devices are shown to, or hidden from, a process: variables per kind of Ray resource."""

from collections.abc import Mapping

SLOT = "slot"

# Ray's resource name -> the variables that the vendor's libraries read.
_VISIBLE: Mapping[str, tuple[str, ...]] = {
    "GPU": ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"),  # Ray counts NVIDIA, AMD, Intel and MetaX as GPU
    "NPU": ("ASCEND_RT_VISIBLE_DEVICES",),
    "HPU": ("HABANA_VISIBLE_MODULES",),
    "TPU": ("TPU_VISIBLE_CHIPS",),
    "neuron_cores": ("NEURON_RT_VISIBLE_CORES",),
    "MLU": ("MLU_VISIBLE_DEVICES",),
    "MUSA": ("MUSA_VISIBLE_DEVICES",),
    "DCU": ("HIP_VISIBLE_DEVICES",),
}


def accelerator_resource(resources: Mapping[str, float]) -> str:
    """The resource that counts a node's accelerators; `slot` for a node that has none and counts slots."""
    return next((name for name in _VISIBLE if resources.get(name, 0) > 0), SLOT)


def visible_devices(resource: str, devices: tuple[int, ...]) -> dict[str, str]:
    """The variables that let a process see exactly these devices (an empty value hides all)."""
    shown = ",".join(map(str, devices))
    return dict.fromkeys(_VISIBLE.get(resource, ()), shown)
