"""Reads YAML by the core rules of YAML 1.2: `on`, `12:30` and dates are text, `3e-4` is a number, and a key
that is given twice is an error instead of a silent choice.
"""

import re
from collections.abc import Hashable, Sequence
from typing import Any

import yaml
from yaml.nodes import MappingNode


class Loader(yaml.SafeLoader):
    """PyYAML's safe loader (YAML 1.1) with the resolvers replaced."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """As the base class, but refuses repeated keys."""
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key!r} is given twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def _resolve(tag: str, pattern: str, first: Sequence[str]) -> None:
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))


_resolve("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF")
_resolve("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""])
_resolve("int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789")
_resolve(
    "float",
    r"^[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?$|^[-+]?[0-9]+[eE][-+]?[0-9]+$|^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$",
    "-+.0123456789",
)


def load(text: str) -> Any:
    """The single document in `text`; raises `yaml.YAMLError`."""
    return yaml.load(text, Loader=Loader)
