"""What admins do with nodes. Lists of nodes are served beside the jobs, which know what is in use."""

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.requests import client_address, reader_of
from cluster.selectors import node_row
from cluster.serializers import CordonSerializer, NodeSerializer
from cluster.services import cordon_node, remove_node, uncordon_node


class CordonView(APIView):
    """`POST nodes/{name}/cordon`."""

    @extend_schema(request=CordonSerializer, responses=NodeSerializer)
    def post(self, request: Request, name: str) -> Response:
        """Give the node no new work; what runs there goes on."""
        asked = CordonSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        cordon_node(
            user=reader_of(request),
            name=name,
            reason=asked.validated_data["reason"],
            address=client_address(request),
            now=timezone.now(),
        )
        return _answer(name)


class UncordonView(APIView):
    """`POST nodes/{name}/uncordon`."""

    @extend_schema(request=None, responses=NodeSerializer)
    def post(self, request: Request, name: str) -> Response:
        """Let the node have new work again."""
        uncordon_node(user=reader_of(request), name=name, address=client_address(request), now=timezone.now())
        return _answer(name)


class NodeView(APIView):
    """`DELETE nodes/{name}`."""

    @extend_schema(responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        """Forget a node that is gone; one that is in the cluster is a conflict."""
        remove_node(user=reader_of(request), name=name, address=client_address(request), now=timezone.now())
        return Response(status=status.HTTP_204_NO_CONTENT)


def _answer(name: str) -> Response:
    return Response(NodeSerializer(node_row(name)).data)
