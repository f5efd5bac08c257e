"""Nodes over REST: what they are, what runs on them, how they hang together; keeping work off them."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from accounts.requests import client_address, reader_of
from cluster.selectors import NodeRow, node_rows, topology_tree, totals
from cluster.services import cordon_node, uncordon_node
from jobs import serializers as shapes
from jobs.parsers import StrictJsonParser, mapping_of
from jobs.selectors import visible_jobs
from jobs.services.drain import drain_node
from jobs.snapshot import devices_used
from jobs.spec_reading import Reading
from jobs.units import render_milli
from refusals import Invalid

Occupied = dict[str, dict[int, list[UUID]]]


class NodeList(APIView):
    """The machines."""

    @extend_schema(operation_id="cluster_nodes", responses=shapes.NodeShape(many=True), tags=["cluster"])
    def get(self, request: Request) -> Response:
        """The nodes by name; of the jobs on them those that the reader may see."""
        return Response({"results": _nodes(reader_of(request)), "next": None})


class TopologyTree(APIView):
    """How the nodes hang together."""

    @extend_schema(operation_id="cluster_topology", responses={200: {"type": "object"}}, tags=["cluster"])
    def get(self, request: Request) -> Response:
        """The tree of domains from the widest level down to the nodes."""
        reader_of(request)
        return Response({"domains": [asdict(domain) for domain in topology_tree(_used(devices_used()))]})


class Utilisation(APIView):
    """The cluster in numbers."""

    @extend_schema(operation_id="cluster_utilisation", responses=shapes.UtilisationShape, tags=["cluster"])
    def get(self, request: Request) -> Response:
        """How much there is, how much is used, how much is free."""
        reader_of(request)
        found = totals(_used(devices_used()))
        return Response(
            {
                "accelerators_total": found.num_accelerators,
                "used": found.num_used,
                "free": found.num_free,
                "nodes_total": found.num_nodes,
                "nodes_ready": found.num_ready,
                "nodes_cordoned": found.num_cordoned,
                "by_type": found.by_type,
                "cpus": render_milli(found.cpus_milli),
                "memory_bytes": found.memory_bytes,
            }
        )


class NodeCordon(APIView):
    """Keeping new work off a node."""

    parser_classes = [StrictJsonParser]

    @extend_schema(
        operation_id="nodes_cordon",
        request=shapes.CordonShape,
        responses=shapes.NodeShape,
        tags=["cluster"],
    )
    def post(self, request: Request, name: str) -> Response:
        """Give the node no new work; what runs there goes on. For platform admins."""
        user = reader_of(request)
        cordon_node(
            user=user,
            name=name,
            reason=_reason(request),
            address=client_address(request),
            now=timezone.now(),
        )
        return Response(_node(user, name))


class NodeDrain(APIView):
    """Emptying a node."""

    parser_classes = [StrictJsonParser]

    @extend_schema(
        operation_id="nodes_drain", request=shapes.CordonShape, responses=shapes.DrainShape, tags=["cluster"]
    )
    def post(self, request: Request, name: str) -> Response:
        """Cordon the node and have its jobs save, leave and go on elsewhere. For platform admins."""
        told = drain_node(
            user=reader_of(request),
            name=name,
            reason=_reason(request),
            address=client_address(request),
            now=timezone.now(),
        )
        return Response({"node": name, "num_leaving": len(told)})


class NodeUncordon(APIView):
    """Letting a node have new work again."""

    parser_classes = [StrictJsonParser]

    @extend_schema(operation_id="nodes_uncordon", request=None, responses=shapes.NodeShape, tags=["cluster"])
    def post(self, request: Request, name: str) -> Response:
        """Let the node have new work again. For platform admins."""
        user = reader_of(request)
        uncordon_node(user=user, name=name, address=client_address(request), now=timezone.now())
        return Response(_node(user, name))


def _reason(request: Request) -> str:
    reading = Reading()
    body = reading.mapping(mapping_of(request), "", known=("reason",))
    reason = reading.text(body.get("reason") or None, "reason", max_length=300)
    if reading.problems:
        raise Invalid(details=reading.problems)
    return reason or ""


def _nodes(user: User) -> list[dict[str, Any]]:
    occupied = devices_used()
    ids = {job_id for devices in occupied.values() for jobs in devices.values() for job_id in jobs}
    names = dict(visible_jobs(user).filter(id__in=ids).values_list("id", "name"))
    return [_node_json(row, occupied, names) for row in node_rows(_used(occupied))]


def _node(user: User, name: str) -> dict[str, Any]:
    return next(node for node in _nodes(user) if node["name"] == name)


def _used(occupied: Occupied) -> dict[str, set[int]]:
    return {node: set(devices) for node, devices in occupied.items()}


def _node_json(row: NodeRow, occupied: Occupied, names: dict[UUID, str]) -> dict[str, Any]:
    return {
        "name": row.name,
        "state": row.state,
        "problem": row.problem,
        "cordoned": row.cordoned,
        "cordon_reason": row.cordon_reason,
        "labels": row.labels,
        "domains": row.domains,
        "address": row.address,
        "accelerator_type": row.accelerator_type,
        "num_accelerators": row.num_accelerators,
        "cpus": render_milli(row.cpus_milli),
        "memory_bytes": row.memory_bytes,
        "used": len(row.devices_used),
        "devices_used": list(row.devices_used),
        "jobs": _occupants(occupied.get(row.name, {}), names),
        "metrics": row.metrics,
        "last_seen_at": row.last_seen_at,
    }


def _occupants(devices: dict[int, list[UUID]], names: dict[UUID, str]) -> list[dict[str, Any]]:
    held: dict[UUID, list[int]] = {}
    for device, jobs in sorted(devices.items()):
        for job_id in jobs:
            held.setdefault(job_id, []).append(device)
    return [
        {"id": str(job_id), "name": names[job_id], "devices": indices}
        for job_id, indices in held.items()
        if job_id in names
    ]
