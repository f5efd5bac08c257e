"""Environment, devices, ports, reservation, archives, outputs, local command lines: small and mostly pure."""

import io
import os
import socket
import tarfile
from pathlib import Path

import pytest

from ray_runtime import local
from ray_runtime.code_archive import CodeUnusableError, keep_recent, unpack_archive
from ray_runtime.devices import accelerator_resource, visible_devices
from ray_runtime.environment import Folders, Rendezvous, nodes_of, rank_argv, rank_environ
from ray_runtime.outputs import list_outputs, open_inside
from ray_runtime.policies import FAILURE_GRACE_SECONDS
from ray_runtime.ports import choose_port
from ray_runtime.protocol import LaunchSpec, WorkerSlot
from ray_runtime.ray_cluster import RayNode
from ray_runtime.reservation import bundle_for
from ray_runtime.settings import ConductorSettings
from tests.runtime.specs import a_spec


def environ_of(
    spec: LaunchSpec, rank: int, *, resource: str = "slot", address: str = "10.0.0.1"
) -> dict[str, str]:
    """What one rank sees on a node with this environment."""
    return rank_environ(
        spec,
        slot=next(slot for slot in spec.workers if slot.rank == rank),
        folders=Folders(root=Path("/w/a")),
        rendezvous=Rendezvous(address="10.0.0.1", port=21_000, resume_from="/c/step-00000004"),
        node_address=address,
        resource=resource,
        inherited={"PATH": "/bin", "HOME": "/root", "RAY_JOB_ID": "1", "DATABASE_URL": "x", "LANG": "C"},
    )


def test_ranks_know_their_place(tmp_path: Path) -> None:
    """Local ranks per node, group ranks in the order of the nodes' lowest rank."""
    spec = a_spec("true", nodes=["b", "a", "b", "a"], checkpoints=tmp_path)
    assert nodes_of(spec) == ["b", "a"]
    places = [
        tuple(
            environ_of(spec, rank)[name] for name in ("RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK")
        )
        for rank in range(4)
    ]
    assert places == [("0", "0", "2", "0"), ("1", "0", "2", "1"), ("2", "1", "2", "0"), ("3", "1", "2", "1")]


def test_a_rank_inherits_nothing_that_is_not_its_own(tmp_path: Path) -> None:
    """Neither Ray's variables nor addresses of servers."""
    environ = environ_of(a_spec("true", nodes=["a"], checkpoints=tmp_path), 0)
    assert not {"RAY_JOB_ID", "DATABASE_URL"} & environ.keys()
    assert environ["GANGLINE_RESUME_FROM"] == "/c/step-00000004"
    assert environ["MASTER_PORT"] == "21000"


def test_gloo_stays_on_loopback_where_the_node_is(tmp_path: Path) -> None:
    """It would look the host name up and leave."""
    spec = a_spec("true", nodes=["a"], checkpoints=tmp_path)
    assert environ_of(spec, 0, address="127.0.0.3")["GLOO_SOCKET_IFNAME"] == "lo"
    assert "GLOO_SOCKET_IFNAME" not in environ_of(spec, 0)


def test_users_variables_replace_defaults_but_nothing_of_the_platforms(tmp_path: Path) -> None:
    """A job may set its thread count, not its rank."""
    variables = {"OMP_NUM_THREADS": "8", "WORLD_SIZE": "9", "GANGLINE_JOB_ID": "mine"}
    spec = a_spec("true", nodes=["a"], checkpoints=tmp_path, variables=variables)
    environ = environ_of(spec, 0)
    assert (environ["OMP_NUM_THREADS"], environ["WORLD_SIZE"]) == ("8", "1")
    assert environ["GANGLINE_JOB_ID"] == spec.job_id


def test_single_device_ranks_see_all_of_their_nodes_devices(tmp_path: Path) -> None:
    """In order of local rank, as `cuda:$LOCAL_RANK` expects; bigger ranks see their own."""
    workers = (WorkerSlot(rank=0, node="a", devices=(5,)), WorkerSlot(rank=1, node="a", devices=(2,)))
    spec = a_spec("true", nodes=["a", "a"], checkpoints=tmp_path, workers=workers)
    assert [environ_of(spec, rank, resource="GPU")["CUDA_VISIBLE_DEVICES"] for rank in (0, 1)] == [
        "5,2",
        "5,2",
    ]
    assert [environ_of(spec, rank)["GANGLINE_ACCELERATORS"] for rank in (0, 1)] == ["5", "2"]
    pair = (WorkerSlot(rank=0, node="a", devices=(0, 1)), WorkerSlot(rank=1, node="a", devices=(2, 3)))
    spec = a_spec("true", nodes=["a", "a"], checkpoints=tmp_path, workers=pair)
    assert environ_of(spec, 1, resource="NPU")["ASCEND_RT_VISIBLE_DEVICES"] == "2,3"


def test_a_recipe_is_a_module_with_its_params(tmp_path: Path) -> None:
    """A command is a shell line."""
    recipe = a_spec(None, nodes=["a"], checkpoints=tmp_path, recipe="gpt-pretrain", params={"layers": 2})
    assert rank_argv(recipe)[1:] == ("-m", "ray_runtime.train.recipes")
    assert environ_of(recipe, 0)["GANGLINE_PARAMS"] == '{"layers": 2}'
    command = a_spec("a | b", nodes=["a"], checkpoints=tmp_path)
    assert rank_argv(command) == ("/bin/sh", "-c", "a | b")
    assert "GANGLINE_RECIPE" not in environ_of(command, 0)


@pytest.mark.parametrize(
    ("resources", "name"),
    [
        ({"CPU": 4.0, "slot": 4.0}, "slot"),
        ({"CPU": 4.0, "GPU": 8.0}, "GPU"),
        ({"NPU": 8.0}, "NPU"),
        ({"CPU": 4.0}, "slot"),
        ({"MLU": 2.0}, "MLU"),
    ],
)
def test_a_nodes_accelerators_are_what_ray_counts(resources: dict[str, float], name: str) -> None:
    """Slots where there are none."""
    assert accelerator_resource(resources) == name


def test_no_device_means_none_is_seen() -> None:
    """An empty value hides all of them."""
    assert visible_devices("GPU", ()) == {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}
    assert visible_devices("slot", (0,)) == {}


def a_node(**resources: float) -> RayNode:
    """A Ray node with these resources."""
    return RayNode(
        name="a", ray_node_id="f" * 8, address="10.0.0.1", port=1, alive=True, labels={}, resources=resources
    )


@pytest.mark.parametrize(
    ("milli", "cpus_milli", "num_workers", "wanted"),
    [
        (1000, 0, 2, {"slot": 2.0}),
        (500, 0, 1, {"slot": 0.5}),
        (1000, 1000, 2, {"slot": 2.0, "CPU": 2.0}),
        (1000, 8000, 1, {"slot": 1.0, "CPU": 1.0}),
        (0, 2000, 1, {"CPU": 2.0}),
        (0, 0, 1, {"node:10.0.0.1": 0.001}),
    ],
)
def test_what_a_gang_takes_on_a_node(
    milli: int, cpus_milli: int, num_workers: int, wanted: dict[str, float], tmp_path: Path
) -> None:
    """CPUs never more than the share that goes with the accelerators; never nothing."""
    spec = a_spec(
        "true",
        nodes=["a"] * num_workers,
        checkpoints=tmp_path,
        accelerators_milli=milli,
        cpus_milli=cpus_milli,
    )
    assert bundle_for(spec, a_node(CPU=4.0, slot=4.0)).resources == wanted


def test_ports_are_free_and_not_given_twice() -> None:
    """Below Linux' ephemeral range; agents on one machine draw from different shares."""
    taken: set[int] = set()
    for _ in range(50):
        port = choose_port("127.0.0.3", taken=taken)
        assert port not in taken and 20_000 <= port < 32_768
        taken.add(port)
    others = {choose_port("127.0.0.4", taken=()) for _ in range(50)}
    assert not others & taken


def test_a_port_that_listens_is_not_chosen() -> None:
    """Programs bind all interfaces."""
    with socket.create_server(("", choose_port("127.0.0.9", taken=()))) as server:
        used = server.getsockname()[1]
        assert all(choose_port("127.0.0.9", taken=()) != used for _ in range(200))


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "a/../../evil"])
def test_an_archive_cannot_write_outside(name: str, tmp_path: Path) -> None:
    """The portal checks too; the node does not rely on it."""
    with pytest.raises(CodeUnusableError):
        unpack_archive(_tar(tmp_path, tarfile.TarInfo(name)), tmp_path / "work")
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    ("kind", "target"), [(tarfile.SYMTYPE, "/etc"), (tarfile.LNKTYPE, "../../x"), (tarfile.CHRTYPE, "")]
)
def test_an_archive_cannot_hold_links_outside_or_devices(kind: bytes, target: str, tmp_path: Path) -> None:
    """Each is refused."""
    member = tarfile.TarInfo("a")
    member.type, member.linkname = kind, target
    with pytest.raises(CodeUnusableError):
        unpack_archive(_tar(tmp_path, member), tmp_path / "work")


def test_the_cache_of_archives_is_bounded(tmp_path: Path) -> None:
    """The least recently used go; the one in use stays."""
    archives = [tmp_path / f"{number}.tar.gz" for number in range(5)]
    for number, archive in enumerate(archives):
        archive.touch()
        os.utime(archive, ns=(number, number))
    keep_recent(tmp_path, used=archives[0], keep=2)
    assert {path.name for path in tmp_path.iterdir()} == {"0.tar.gz", "4.tar.gz"}


def test_what_is_no_archive_is_said(tmp_path: Path) -> None:
    """Not a traceback."""
    (tmp_path / "a.tar.gz").write_bytes(b"nothing")
    with pytest.raises(CodeUnusableError, match="could not be unpacked"):
        unpack_archive(tmp_path / "a.tar.gz", tmp_path / "work")


def test_outputs_are_regular_files_inside(tmp_path: Path) -> None:
    """Links are neither followed nor uploaded, at any step of a path; nor are pipes."""
    folder, outside = tmp_path / "output", tmp_path / "outside"
    (folder / "a").mkdir(parents=True)
    outside.mkdir()
    (outside / "canary").write_text("secret")
    (folder / "a" / "结果.txt").write_text("1")
    (folder / "link").symlink_to(outside / "canary")
    (folder / "linked").symlink_to(outside)
    os.mkfifo(folder / "pipe")
    assert [output.path for output in list_outputs(folder)] == ["a/结果.txt"]
    for name in ("link", "linked/canary", "../outside/canary", "pipe", "a"):
        assert open_inside(folder, name) is None
    assert list_outputs(tmp_path / "none") == []


def command(**changes: object) -> local.RayCommand:
    """A node's command line."""
    values: dict[str, object] = {
        "head": "127.0.0.2:6379",
        "temp_dir": Path("/d/n1"),
        "token_path": Path("/d/token"),
        "python_path": "/repo",
        "inherit": {"PATH": "/bin", "DATABASE_URL": "x", "RAY_ADDRESS": "y", "GANGLINE_SECRET_KEY": "z"},
        "num_cpus": 4,
        "num_slots": 2,
        "labels": {"gangline.node": "n1", "gangline.zone": "z1"},
    }
    return local.node_command("127.0.0.3", **(values | changes))  # type: ignore[arg-type]  # a test's builder


def test_rays_processes_inherit_no_secret() -> None:
    """And have authentication set explicitly."""
    environ = command().environ
    assert not {"DATABASE_URL", "RAY_ADDRESS", "GANGLINE_SECRET_KEY"} & environ.keys()
    assert (environ["RAY_AUTH_MODE"], environ["RAY_AUTH_TOKEN_PATH"]) == ("token", "/d/token")
    assert (environ["RAY_USAGE_STATS_ENABLED"], environ["RAY_memory_monitor_refresh_ms"]) == ("0", "0")
    assert environ[local.WORK_DIR_VARIABLE] == "/d/n1-work"


def test_a_nodes_command_line() -> None:
    """Slots, labels, the smallest object store, in the foreground."""
    argv = command().argv
    assert {"--block", '--resources={"slot": 2}', "--labels=gangline.node=n1,gangline.zone=z1"} <= set(argv)
    assert "--object-store-memory=78643200" in argv


def test_the_head_keeps_its_tables() -> None:
    """On disk, so that a restart at the same address keeps actors and groups."""
    head = local.head_command(
        "127.0.0.2",
        port=6379,
        temp_dir=Path("/d/head"),
        storage_dir=Path("/d/gcs"),
        token_path=Path("/d/token"),
        python_path="/repo",
        inherit={},
    )
    assert (head.environ["RAY_gcs_storage"], head.environ["RAY_gcs_storage_path"]) == ("rocksdb", "/d/gcs")
    assert {"--head", "--port=6379", "--num-cpus=0", "--include-dashboard=false"} <= set(head.argv)


def test_addresses_and_folders_that_cannot_work_are_refused() -> None:
    """Ray replaces 127.0.0.1, and socket paths end at 107 bytes."""
    with pytest.raises(ValueError, match=r"127\.0\.0\.2"):
        local.node_command(
            "127.0.0.1",
            head="127.0.0.2:1",
            temp_dir=Path("/d"),
            token_path=Path("/t"),
            python_path="",
            inherit={},
            num_cpus=1,
            num_slots=1,
            labels={},
        )
    with pytest.raises(ValueError, match="socket paths"):
        command(temp_dir=Path("/" + "d" * 60))
    long = Path("/" + "d" * 60)
    assert len(str(local.temp_dir_for(long, name="head"))) <= local.LONGEST_TEMP_DIR
    assert local.temp_dir_for(Path("/data"), name="n1") == Path("/data/ray/n1")


def test_settings_are_told_apart_without_showing_the_token() -> None:
    """The launcher compares fingerprints."""
    one = ConductorSettings(portal_url="http://p", token="secret-1")  # a test's own
    two = ConductorSettings(portal_url="http://p", token="secret-2")  # a test's own
    assert one.fingerprint() != two.fingerprint()
    assert "secret" not in repr(one)
    assert ConductorSettings.from_json(one.to_json()) == one
    assert 0 < FAILURE_GRACE_SECONDS <= 5


def _tar(folder: Path, member: tarfile.TarInfo) -> Path:
    path = folder / "archive.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(member, io.BytesIO(b""))
    return path
