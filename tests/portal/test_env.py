"""The environment is read into one typed object, or refused with everything that is wrong."""

from pathlib import Path

import pytest

from portal.env import EnvError, Isolation, read_env, variables

NEEDED = {
    "DATABASE_URL": "postgres://someone@127.0.0.1/db",
    "REDIS_URL": "redis://127.0.0.1:6379/0",
    "GANGLINE_SECRET_KEY": "k",
    "GANGLINE_CONDUCTOR_TOKEN": "t",
}


def test_defaults_follow_the_data_folder(tmp_path: Path) -> None:
    """Blobs and checkpoints lie in the data folder unless they are told to be elsewhere."""
    env = read_env({**NEEDED, "GANGLINE_DATA_DIR": str(tmp_path)})
    assert env.checkpoint_root == tmp_path / "checkpoints"
    assert env.blob_url == f"file://{tmp_path}/blobs"
    assert (env.topology_levels, env.isolation) == (("zone", "rack", "node"), Isolation.OFF)


def test_every_problem_is_told_at_once() -> None:
    """A missing, a wrong and an unknown setting are one error."""
    wrong = {**NEEDED, "GANGLINE_PORT": "0", "GANGLINE_PROT": "8000", "REDIS_URL": ""}
    with pytest.raises(EnvError) as refused:
        read_env(wrong)
    named = [line.partition(":")[0] for line in str(refused.value).splitlines()]
    assert named == ["GANGLINE_PORT", "GANGLINE_PROT", "REDIS_URL"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "mysql://h/db"),
        ("GANGLINE_DEBUG", "perhaps"),
        ("GANGLINE_HTTPS", "2"),
        ("GANGLINE_ISOLATION", "some"),
        ("GANGLINE_MAX_UPLOAD_BYTES", "-1"),
        ("GANGLINE_NODE_SILENCE_SECONDS", "nan"),
        ("GANGLINE_PORT", "70000"),
        ("GANGLINE_PUBLIC_URL", "localhost:8000"),
    ],
)
def test_a_wrong_value_names_its_variable(name: str, value: str) -> None:
    """No setting takes a value that it cannot mean."""
    with pytest.raises(EnvError, match=f"^{name}: must be"):
        read_env({**NEEDED, name: value})


def test_a_secret_may_come_from_a_file(tmp_path: Path) -> None:
    """The file's text counts without its last line break; both at once are refused."""
    file = tmp_path / "key"
    file.write_text("from a file\n")
    given = {**NEEDED, "GANGLINE_SECRET_KEY": "", "GANGLINE_SECRET_KEY_FILE": str(file)}
    assert read_env(given).secret_key == "from a file"
    with pytest.raises(EnvError, match="not both"):
        read_env({**given, "GANGLINE_SECRET_KEY": "k"})
    with pytest.raises(EnvError, match="No such file"):
        read_env({**given, "GANGLINE_SECRET_KEY_FILE": str(tmp_path / "none")})


def test_only_secrets_have_a_file_form() -> None:
    """A port from a file would be a second way to say the same."""
    assert "GANGLINE_SECRET_KEY_FILE" in variables()
    assert "GANGLINE_PORT_FILE" not in variables()


def test_the_command_lines_variables_are_not_settings() -> None:
    """A shell in which somebody has logged in can start the portal."""
    assert read_env({**NEEDED, "GANGLINE_URL": "http://elsewhere", "GANGLINE_TOKEN": "glt_x"}).port == 8000
