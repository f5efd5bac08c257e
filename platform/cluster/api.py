"""Forgetting nodes. Their lists and cordons are served beside the jobs, which know what is in use."""

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.requests import client_address, reader_of
from cluster.services import remove_node


class NodeView(APIView):
    """`DELETE nodes/{name}`."""

    @extend_schema(operation_id="nodes_remove", responses={204: None}, tags=["cluster"])
    def delete(self, request: Request, name: str) -> Response:
        """Forget a node that is gone; one that is in the cluster is a conflict. For platform admins."""
        remove_node(user=reader_of(request), name=name, address=client_address(request), now=timezone.now())
        return Response(status=status.HTTP_204_NO_CONTENT)
