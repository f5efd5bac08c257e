"""Bodies of requests into documents: JSON, YAML, or a form with a file. The limits are `document.py`'s."""

from collections.abc import Callable, Mapping
from typing import IO, Any, ClassVar

from django.core.files import File
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from jobs.document import MAX_JSON_BYTES, MAX_YAML_BYTES, read_json, read_yaml
from refusals import Invalid, Problem


class _DocumentParser(BaseParser):
    """Reads no more of a body than a document may have."""

    read_document: ClassVar[Callable[[bytes], object]]
    max_bytes: ClassVar[int]

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,  # noqa: ARG002  # the framework's signature
        parser_context: Mapping[str, Any] | None = None,  # noqa: ARG002  # as above
    ) -> Any:
        """The document in the body."""
        return type(self).read_document(stream.read(self.max_bytes + 1))


class StrictJsonParser(_DocumentParser):
    """JSON without NaN, doubled keys and endless nesting."""

    media_type = "application/json"
    read_document = read_json
    max_bytes = MAX_JSON_BYTES


class YamlParser(_DocumentParser):
    """YAML of plain values."""

    media_type = "application/yaml"
    read_document = read_yaml
    max_bytes = MAX_YAML_BYTES


class XYamlParser(YamlParser):
    """The same under its older name."""

    media_type = "application/x-yaml"


def submitted(request: Request) -> "tuple[object, File[bytes] | None]":
    """The document of a submission, and the code archive that came along in a form."""
    data = request.data
    if not isinstance(data, QueryDict):
        return data, None
    spec, code = data.get("spec"), data.get("code")
    if code is not None and not isinstance(code, File):
        raise Invalid(details=[Problem("code", _("must be a file"))])
    if spec is None:
        raise Invalid(details=[Problem("spec", _("is required: the job's document as a file or text"))])
    return _document(spec), code


def mapping_of(request: Request) -> Mapping[str, Any]:
    """A body that has to be a mapping; an empty one stands for a body that was left out."""
    data = request.data
    if isinstance(data, QueryDict):
        return data.dict()
    if not isinstance(data, dict):
        raise Invalid(details=[Problem("", _("must be a mapping of keys to values"))])
    return data


def _document(spec: "File[bytes] | str") -> object:
    """JSON if it looks like it, else YAML."""
    body = spec.encode(errors="surrogatepass") if isinstance(spec, str) else spec.read(MAX_JSON_BYTES + 1)
    return read_json(body) if body.lstrip()[:1] == b"{" else read_yaml(body)
