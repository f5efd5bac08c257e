"""Forgetting nodes, and maintenance windows.

Lists and cordons of nodes are served beside the jobs, which know what is in use.
"""

from typing import Any
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.requests import client_address, reader_of
from cluster.selectors import open_windows
from cluster.services import cancel_window, plan_window, remove_node


class WindowSerializer(serializers.Serializer[Any]):
    """A maintenance window: nobody may hold these nodes from its start to its end."""

    id = serializers.UUIDField(read_only=True)
    nodes = serializers.ListField(child=serializers.CharField(max_length=120), max_length=20_000)
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    reason = serializers.CharField(max_length=300)


class NodeView(APIView):
    """`DELETE nodes/{name}`."""

    @extend_schema(operation_id="nodes_remove", responses={204: None}, tags=["cluster"])
    def delete(self, request: Request, name: str) -> Response:
        """Forget a node that is gone; one that is in the cluster is a conflict. For platform admins."""
        remove_node(user=reader_of(request), name=name, address=client_address(request), now=timezone.now())
        return Response(status=status.HTTP_204_NO_CONTENT)


class WindowList(APIView):
    """The maintenance windows."""

    @extend_schema(operation_id="maintenance_list", responses=WindowSerializer(many=True), tags=["cluster"])
    def get(self, request: Request) -> Response:
        """Those that have not ended, by their start."""
        reader_of(request)
        rows = WindowSerializer(open_windows(timezone.now()), many=True).data
        return Response({"results": rows, "next": None})

    @extend_schema(
        operation_id="maintenance_plan",
        request=WindowSerializer,
        responses={201: WindowSerializer},
        tags=["cluster"],
    )
    def post(self, request: Request) -> Response:
        """Plan a window. For platform admins.

        What would run into it is not started there; what is there is told to leave, its grace before the
        window begins.
        """
        asked = WindowSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        window = plan_window(
            user=reader_of(request),
            address=client_address(request),
            now=timezone.now(),
            **asked.validated_data,
        )
        return Response(WindowSerializer(window).data, status=status.HTTP_201_CREATED)


class WindowDetail(APIView):
    """One maintenance window."""

    @extend_schema(operation_id="maintenance_cancel", responses={204: None}, tags=["cluster"])
    def delete(self, request: Request, window_id: UUID) -> Response:
        """Take it back; its nodes can be used again at once. For platform admins."""
        cancel_window(
            user=reader_of(request), window_id=window_id, address=client_address(request), now=timezone.now()
        )
        return Response(status=status.HTTP_204_NO_CONTENT)
