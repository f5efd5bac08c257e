"""One real Ray cluster, one portal and one conductor for all tests of the runtime."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.fake_portal import FakePortal
from tests.runtime.ray_cluster import LocalRay
from tests.runtime.runtime import Runtime


@pytest.fixture(scope="session")
def whole_runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """Started once: a head, four nodes, the conductor, an agent on each node."""
    cluster, portal = LocalRay(), FakePortal()
    try:
        cluster.start()
        cluster.ensure_conductor(portal)
        yield Runtime(cluster, portal, tmp_path_factory.mktemp("runtime"))
    finally:
        cluster.stop()
        portal.server.close()


@pytest.fixture
def runtime(whole_runtime: Runtime) -> Runtime:
    """With all nodes well; tests that break something leave it working."""
    whole_runtime.cluster.repair()
    whole_runtime.wait_well()
    return whole_runtime


@pytest.fixture
def portal() -> Iterator[FakePortal]:
    """A portal alone, for parts that need no cluster."""
    portal = FakePortal()
    yield portal
    portal.server.close()


@pytest.fixture
def work_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node's folder."""
    monkeypatch.setenv("GANGLINE_WORK_DIR", str(tmp_path / "work"))
    return tmp_path / "work"
