"""Headers under which a file from outside is handed out: saved under its exact name, never shown or run."""

from django.utils.http import content_disposition_header


def attachment_headers(path: str) -> dict[str, str]:
    """For a file of this path; its name may be in any script (RFC 6266, RFC 8187)."""
    name = path.rpartition("/")[2]
    return {
        "Content-Disposition": content_disposition_header(as_attachment=True, filename=name) or "attachment",
        "Content-Type": "application/octet-stream",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox",
    }
