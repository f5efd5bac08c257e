"""Lists come in pages by cursor: `{"results": [...], "next": url or null}`; `?limit=` up to 200."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response

if TYPE_CHECKING:  # the view imports this module while its own is being loaded
    from rest_framework.views import APIView


class CursorPages(CursorPagination):
    """A view sets `ordering` (unique in its last field) where newest first by id is not right."""

    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 200
    ordering = ("-id",)

    def get_ordering(self, request: Request, queryset: QuerySet[Any], view: "APIView") -> tuple[str, ...]:
        """The view's own ordering; never the caller's, a cursor means nothing under another one."""
        ordering: str | Sequence[str] = getattr(view, "ordering", self.ordering)
        return (ordering,) if isinstance(ordering, str) else tuple(ordering)

    def paginate_queryset(
        self, queryset: QuerySet[Any] | Sequence[Any], request: Request, view: "APIView | None" = None
    ) -> list[Any] | None:
        """One page. A cursor that was made up may hold what no database can compare."""
        try:
            return super().paginate_queryset(queryset, request, view)
        except (ValidationError, ValueError, TypeError):
            raise NotFound(self.invalid_cursor_message) from None

    def get_paginated_response(self, data: Any) -> Response:
        """The page in our shape."""
        return Response({"results": data, "next": self.get_next_link()})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The same shape for OpenAPI."""
        return {
            "type": "object",
            "required": ["results", "next"],
            "properties": {
                "results": schema,
                "next": {"type": "string", "format": "uri", "nullable": True},
            },
        }
