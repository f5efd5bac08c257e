"""The environment, read once into one frozen, typed object. Nothing else reads `os.environ` for settings.

Two names are everybody's (`DATABASE_URL`, `REDIS_URL`), all others start with `GANGLINE_`; an unknown one is
an error, so a typing mistake never silently means the default. Secrets may come from a file (`*_FILE`).
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
PREFIX = "GANGLINE_"
UNPREFIXED = frozenset({"database_url", "redis_url"})
# The command line's own (which portal, whose token); they may be set in the same shell and mean nothing here.
CLIENT_NAMES = frozenset({"GANGLINE_URL", "GANGLINE_TOKEN", "GANGLINE_CONFIG", "GANGLINE_HOME"})


class Isolation(StrEnum):
    """Whether user code must run under accounts of its own."""

    OFF = "off"  # one trust domain: the portal says so
    REQUIRED = "required"  # refuse to run where accounts cannot be switched


class EnvError(Exception):
    """The environment cannot be used; the message lists every problem at once."""


def _boolean(text: str) -> bool:
    values = {
        "1": True,
        "true": True,
        "yes": True,
        "on": True,
        "0": False,
        "false": False,
        "no": False,
        "off": False,
    }
    if text.lower() not in values:
        raise ValueError("must be true or false")
    return values[text.lower()]


def _positive_int(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ValueError("must be a whole number above 0")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("must be a number of seconds") from None
    if not 0 < value < float("inf"):
        raise ValueError("must be a number of seconds above 0")
    return value


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise ValueError("must be a port number, 1 to 65535")
    return int(text)


def _folder(text: str) -> Path:
    return Path(text).expanduser().absolute()


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def _url(*schemes: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if urlsplit(text).scheme not in schemes:
            raise ValueError(
                f"must be a URL that starts with {' or '.join(f'{name}://' for name in schemes)}"
            )
        return text.rstrip("/")

    return parse


def _isolation(text: str) -> Isolation:
    try:
        return Isolation(text)
    except ValueError:
        raise ValueError("must be off or required") from None


@dataclass(frozen=True, slots=True)
class Setting:
    """How one setting's text is read, what it means, and what stands for it when it is not set."""

    parse: Callable[[str], Any]
    help: str
    default: str | None = None  # as text; None: required
    secret: bool = False
    in_data_dir: str = ""  # when empty: this child of the data folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Env:
    """Every setting, typed. The reference in `docs/reference/settings.md` is generated from this class."""

    database_url: Annotated[
        str,
        Setting(
            _url("postgres", "postgresql"),
            "PostgreSQL: `postgres://user:password@host:port/name`.",
            secret=True,
        ),
    ]
    redis_url: Annotated[
        str,
        Setting(
            _url("redis", "rediss", "unix"),
            "Redis or Valkey: Celery's broker, wake-ups, cache, throttles.",
            secret=True,
        ),
    ]
    secret_key: Annotated[
        str, Setting(str, "Signs sessions and derives the attempts' tokens. Long and random.", secret=True)
    ]
    conductor_token: Annotated[
        str, Setting(str, "What the conductor shows to the portal. Long and random.", secret=True)
    ]
    data_dir: Annotated[
        Path,
        Setting(_folder, "The one folder for everything that is kept on disk.", default=str(ROOT / "data")),
    ]
    public_url: Annotated[
        str,
        Setting(
            _url("http", "https"),
            "The portal's URL as browsers and the cluster reach it.",
            default="http://127.0.0.1:8000",
        ),
    ]
    host: Annotated[str, Setting(str, "The address that the portal listens on.", default="127.0.0.1")]
    port: Annotated[int, Setting(_port, "The port that the portal listens on.", default="8000")]
    allowed_hosts: Annotated[
        tuple[str, ...],
        Setting(
            _names,
            "Host names that requests may ask for, comma separated; that of the public URL is always one.",
            default="127.0.0.1,localhost",
        ),
    ]
    https: Annotated[
        bool,
        Setting(
            _boolean,
            "Browsers come over HTTPS only: secure cookies, HSTS; a proxy's `X-Forwarded-Proto` is believed.",
            default="false",
        ),
    ]
    debug: Annotated[
        bool, Setting(_boolean, "Django's debug pages. Never where others can reach it.", default="false")
    ]
    ray_address: Annotated[
        str, Setting(str, "The Ray cluster's GCS, `host:port`. Empty: no cluster, jobs wait.", default="")
    ]
    blob_url: Annotated[
        str,
        Setting(
            _url("file", "s3"),
            "Where archives, closed logs and outputs are kept: `file:///folder` or "
            "`s3://bucket/prefix?endpoint=https://…`.",
            in_data_dir="blobs",
        ),
    ]
    checkpoint_root: Annotated[
        Path,
        Setting(_folder, "A folder that every node reaches under the same path.", in_data_dir="checkpoints"),
    ]
    node_silence_seconds: Annotated[
        float,
        Setting(_seconds, "A node that was not heard of for this long is unreachable.", default="10"),
    ]
    max_upload_bytes: Annotated[
        int, Setting(_positive_int, "The largest request body, in bytes.", default=str(256 * 2**20))
    ]
    isolation: Annotated[
        Isolation,
        Setting(
            _isolation,
            "`required`: refuse to start where user code cannot run under other accounts; or `off`.",
            default="off",
        ),
    ]
    topology_levels: Annotated[
        tuple[str, ...],
        Setting(_names, "The levels of the topology tree, widest first.", default="zone,rack,node"),
    ]
    metrics_token: Annotated[
        str,
        Setting(
            str,
            "What Prometheus shows for `/metrics`. Empty: platform admins alone may read it.",
            default="",
            secret=True,
        ),
    ]


def read_env(environ: Mapping[str, str]) -> Env:
    """Read every setting; raise `EnvError` with all that is wrong."""
    problems = [f"{name}: unknown setting" for name in _unknown(environ)]
    values: dict[str, Any] = {}
    for name, setting in settings_of_env().items():
        try:
            values[name] = _value(environ, name, setting, data_dir=values.get("data_dir"))
        except (ValueError, OSError) as error:
            problems.append(f"{variable(name)}: {error}")
    if problems:
        raise EnvError("\n".join(sorted(problems)))
    return Env(**values)


def settings_of_env() -> dict[str, Setting]:
    """Each field of `Env` with its `Setting`, in order."""
    hints = get_type_hints(Env, include_extras=True)
    return {field.name: hints[field.name].__metadata__[0] for field in dataclasses.fields(Env)}


def variable(field_name: str) -> str:
    """The environment variable of one field of `Env`."""
    return field_name.upper() if field_name in UNPREFIXED else PREFIX + field_name.upper()


def variables() -> frozenset[str]:
    """Every name that `read_env` knows, with the secrets' `_FILE` forms."""
    names = {variable(name): setting for name, setting in settings_of_env().items()}
    return frozenset(names) | {f"{name}_FILE" for name, setting in names.items() if setting.secret}


def _unknown(environ: Mapping[str, str]) -> list[str]:
    known = variables() | CLIENT_NAMES
    return [name for name in environ if name.startswith(PREFIX) and name not in known]


def _value(environ: Mapping[str, str], name: str, setting: Setting, *, data_dir: Path | None) -> Any:
    text = _text(environ, variable(name), secret=setting.secret)
    if text:
        return setting.parse(text)
    if setting.in_data_dir:
        folder = (data_dir or ROOT / "data") / setting.in_data_dir
        return folder.as_uri() if setting.parse is not _folder else folder
    if setting.default is None:
        raise ValueError(f"is required. {setting.help}")
    return setting.parse(setting.default)


def _text(environ: Mapping[str, str], name: str, *, secret: bool) -> str:
    file_name = environ.get(f"{name}_FILE", "") if secret else ""
    if not file_name:
        return environ.get(name, "")
    if environ.get(name):
        raise ValueError(f"set {name} or {name}_FILE, not both")
    return Path(file_name).read_text().strip()
