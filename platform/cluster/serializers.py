"""Nodes and the topology as JSON. Memory is bytes, CPUs are numbers of cores."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from cluster.models import NodeState
from cluster.selectors import NodeRow
from cluster.services.cordon import LONGEST_REASON


class NodeSerializer(serializers.Serializer[Any]):
    """One `selectors.NodeRow`."""

    name = serializers.CharField()
    state = serializers.ChoiceField(choices=NodeState.choices)
    state_changed_at = serializers.DateTimeField()
    problem = serializers.CharField()
    cordoned = serializers.BooleanField()
    cordon_reason = serializers.CharField()
    address = serializers.CharField()
    labels = serializers.DictField(child=serializers.CharField())
    domains = serializers.DictField(child=serializers.CharField())
    accelerator_type = serializers.CharField()
    num_accelerators = serializers.IntegerField()
    used = serializers.SerializerMethodField()
    devices_used = serializers.ListField(child=serializers.IntegerField())
    cpus = serializers.SerializerMethodField()
    memory_bytes = serializers.IntegerField()
    metrics = serializers.DictField(child=serializers.FloatField())
    last_seen_at = serializers.DateTimeField()

    def get_used(self, row: NodeRow) -> int:
        """How many of the node's devices are in use."""
        return len(row.devices_used)

    def get_cpus(self, row: NodeRow) -> float:
        """Cores."""
        return row.cpus_milli / 1000


class DomainSerializer(serializers.Serializer[Any]):
    """One `topology.Domain` with everything below it."""

    level = serializers.CharField()
    name = serializers.CharField()
    num_nodes = serializers.IntegerField()
    accelerators = serializers.IntegerField(source="num_accelerators")
    used = serializers.IntegerField(source="num_used")
    children = serializers.SerializerMethodField()

    @extend_schema_field(serializers.ListField(child=serializers.DictField()))
    def get_children(self, domain: Any) -> Any:
        """The domains of the next level."""
        return DomainSerializer(domain.children, many=True).data


class TotalsSerializer(serializers.Serializer[Any]):
    """`selectors.Totals`: how full the cluster is."""

    nodes = serializers.IntegerField(source="num_nodes")
    nodes_ready = serializers.IntegerField(source="num_ready")
    nodes_cordoned = serializers.IntegerField(source="num_cordoned")
    accelerators_total = serializers.IntegerField(source="num_accelerators")
    used = serializers.IntegerField(source="num_used")
    free = serializers.IntegerField(source="num_free")
    by_type = serializers.DictField(child=serializers.IntegerField())
    cpus = serializers.SerializerMethodField()
    memory_bytes = serializers.IntegerField()

    def get_cpus(self, row: Any) -> float:
        """Cores."""
        return float(row.cpus_milli) / 1000


class CordonSerializer(serializers.Serializer[Any]):
    """Why a node is cordoned; shown to everybody."""

    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=LONGEST_REASON)
