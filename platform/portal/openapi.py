"""The API's description: OpenAPI at `/api/v1/schema`, a page to browse it at `/api/docs`. Open to all."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerSplitView
from rest_framework.permissions import AllowAny


class SchemaView(SpectacularJSONAPIView):
    """The description itself."""

    permission_classes = [AllowAny]
    authentication_classes = []


class DocsView(SpectacularSwaggerSplitView):
    """The page; its script comes as a file of its own, since inline scripts are forbidden."""

    permission_classes = [AllowAny]
    authentication_classes = []


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # no types there
    """How a client shows its API token."""

    target_class = "accounts.authentication.TokenAuthentication"
    name = "apiToken"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """A bearer token."""
        return {"type": "http", "scheme": "bearer", "description": "An API token, `glt_…`."}
