"""The runtime as tests see it: orders in, reports and processes out."""

import os
import signal
from pathlib import Path
from typing import Any

import psutil

from ray_runtime.protocol import LaunchSpec, NodeReport, Report, ReportKind
from tests.runtime.fake_portal import FakePortal, wait_until
from tests.runtime.ray_cluster import LocalRay
from tests.runtime.specs import a_spec

ALL_NODES = ("n1", "n2", "n3", "n4")


class Runtime:
    """A cluster, a portal, and shortcuts."""

    def __init__(self, cluster: LocalRay, portal: FakePortal, folder: Path) -> None:
        self.cluster = cluster
        self.portal = portal
        self.folder = folder

    def launch(self, command: str | None, *, nodes: tuple[str, ...] = ("n1",), **changes: Any) -> LaunchSpec:
        """Order an attempt."""
        spec = a_spec(command, nodes=list(nodes), checkpoints=self.folder, **changes)
        self.portal.launch(spec)
        return spec

    def run(self, command: str | None, *, nodes: tuple[str, ...] = ("n1",), **changes: Any) -> LaunchSpec:
        """Order an attempt and wait until it runs."""
        spec = self.launch(command, nodes=nodes, **changes)
        self.portal.wait_for(spec.attempt_id, ReportKind.RUNNING)
        return spec

    def end_of(self, spec: LaunchSpec, *, timeout: float = 40.0) -> Report:
        """Wait for the end report."""
        return self.portal.wait_for(spec.attempt_id, ReportKind.ENDED, timeout=timeout)

    def alive(self, spec: LaunchSpec, *, node: str | None = None) -> list[psutil.Process]:
        """Every living process of an attempt, on one node or on all."""
        mark = f"/{node}/attempts/" if node else "/attempts/"
        found = []
        for process in psutil.process_iter():
            try:
                environ = process.environ() if process.status() != psutil.STATUS_ZOMBIE else {}
            except psutil.Error:
                continue
            if (
                environ.get("GANGLINE_ATTEMPT_ID") == spec.attempt_id
                and mark in environ["GANGLINE_OUTPUT_DIR"]
            ):
                found.append(process)
        return found

    def node(self, name: str) -> NodeReport | None:
        """A node as the last heartbeat told it."""
        inventory = self.portal.inventory
        return next((node for node in inventory.nodes if node.name == name), None) if inventory else None

    def is_alive(self, name: str) -> bool:
        """Whether the last heartbeat says so."""
        node = self.node(name)
        return node is not None and node.alive

    def wait_well(self, *, timeout: float = 90.0) -> None:
        """Until every node's agent answers and the conductor's table is complete."""

        def is_well() -> bool:
            inventory = self.portal.inventory
            is_current = inventory is not None and inventory.epoch == self.portal.epoch and inventory.rebuilt
            return is_current and all(map(self.is_alive, ALL_NODES))

        wait_until(is_well, timeout, lambda: self.portal.inventory)

    def wait_text(self, spec: LaunchSpec, text: str, *, rank: int = 0, timeout: float = 20.0) -> None:
        """Until a rank's log at the portal holds this."""
        wait_until(
            lambda: text in self.portal.text(spec.attempt_id, rank),
            timeout,
            lambda: self.portal.text(spec.attempt_id, rank)[-500:],
        )

    def kill_conductor(self) -> None:
        """Kill -9; Ray restarts it."""
        os.kill(self.cluster.worker_pid("ray::Conductor", node="head"), signal.SIGKILL)

    def kill_agent(self, node: str) -> None:
        """Kill -9; Ray restarts it."""
        os.kill(self.cluster.worker_pid("ray::Agent", node=node), signal.SIGKILL)
