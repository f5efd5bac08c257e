"""What a page may load and run: everything from here, no inline script. Markup that slips in stays text."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

# No inline scripts, style elements or style attributes (drawn bars are SVG); scripts may set styles.
POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
# The API browser brings its own style element.
DOCS_PATH = "/api/docs"
DOCS_POLICY = POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")


class ContentPolicyMiddleware:
    """Sets the policy, and forbids the browser features that no page uses."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer with the headers set."""
        response = self._get_response(request)
        policy = DOCS_POLICY if request.path.startswith(DOCS_PATH) else POLICY
        response.headers.setdefault("Content-Security-Policy", policy)
        response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
        return response
