"""The portal's half of the protocol over real HTTP, recording everything; no database behind it."""

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from ray_runtime.protocol import (
    EPOCH_PATH,
    INVENTORY_PATH,
    ORDERS_PATH,
    REPORTS_PATH,
    Inventory,
    LaunchSpec,
    Order,
    OrderKind,
    Report,
    ReportKind,
    StopIntent,
    StopOrder,
    attempt_token,
)
from tests.runtime.http_server import HttpServer, Request, Response

CONDUCTOR_TOKEN = "conductor-token"  # a test's own
SECRET = "a-test-secret"  # a test's own


class FakePortal:
    """Deduplicates as the real one does: reports by (incarnation, seq), streams by offset, orders by id."""

    def __init__(self) -> None:
        self.epoch = 0
        self.inventory: Inventory | None = None
        self.reports: list[Report] = []
        self.num_repeats = 0
        self.takeovers: list[float] = []
        self.streams: dict[tuple[str, str], bytearray] = defaultdict(bytearray)
        self.closed: set[tuple[str, str]] = set()
        self.outputs: dict[tuple[str, str], bytes] = {}
        self.archives: dict[str, bytes] = {}
        self.arrived: dict[tuple[str, str], float] = {}
        self.tells_reported = True
        self.refused_outputs: set[str] = set()
        self.unpalatable: set[int] = set()  # numbers of reports that make it answer 422
        self._cursors: dict[str, int] = defaultdict(int)
        self._specs: dict[str, LaunchSpec] = {}
        self._orders: dict[int, Order] = {}
        self._delivered: dict[int, float] = {}
        self._done: set[int] = set()
        self._new_order = asyncio.Event()
        self.server = HttpServer(self._handle)

    @property
    def url(self) -> str:
        """Its address."""
        return self.server.url

    def launch(self, spec: LaunchSpec) -> int:
        """Order an attempt; returns the order's id."""
        self._specs[spec.attempt_id] = spec
        return self.order(OrderKind.LAUNCH, spec.attempt_id, spec.to_json())

    def hold_live(self, spec: LaunchSpec) -> None:
        """Believe that an attempt lives, without ordering it."""
        self._specs[spec.attempt_id] = spec

    def stop(self, attempt_id: str, *, grace: float = 5.0, intent: StopIntent = StopIntent.CANCEL) -> int:
        """Order a stop."""
        stop = StopOrder(intent=intent, grace_seconds=grace, reason="a test says so")
        return self.order(OrderKind.STOP, attempt_id, stop.to_json())

    def order(self, kind: OrderKind, attempt_id: str, payload: dict[str, Any]) -> int:
        """Put any order into the outbox."""
        order = Order(id=len(self._orders) + 1, kind=kind, attempt_id=attempt_id, payload=payload)
        self._orders[order.id] = order
        self.server.loop.call_soon_threadsafe(self._new_order.set)
        return order.id

    def is_done(self, order_id: int) -> bool:
        """Whether the conductor has acknowledged an order."""
        return order_id in self._done

    def of(self, attempt_id: str) -> list[Report]:
        """All reports of one attempt, in order of arrival."""
        return [report for report in list(self.reports) if report.attempt_id == attempt_id]

    def kinds(self, attempt_id: str) -> list[str]:
        """Their kinds."""
        return [str(report.kind) for report in self.of(attempt_id)]

    def wait_for(self, attempt_id: str, kind: ReportKind, *, timeout: float = 30.0) -> Report:
        """Wait until a report of this kind has arrived."""
        wait_until(lambda: str(kind) in self.kinds(attempt_id), timeout, lambda: self.kinds(attempt_id))
        return next(report for report in self.of(attempt_id) if report.kind is kind)

    def text(self, attempt_id: str, rank: int = 0, kind: str = "log") -> str:
        """What has arrived of a stream."""
        return bytes(self.streams[attempt_id, f"rank-{rank}.{kind}"]).decode(errors="replace")

    def wait_closed(self, attempt_id: str, rank: int = 0, *, timeout: float = 20.0) -> str:
        """Wait until a log is complete; returns it."""
        key = (attempt_id, f"rank-{rank}.log")
        wait_until(lambda: key in self.closed, timeout, lambda: self.text(attempt_id, rank)[-300:])
        return self.text(attempt_id, rank)

    async def _handle(self, request: Request) -> Response:
        if request.path.startswith("/runtime/v1/attempts/"):
            return self._attempt_path(request)
        if request.headers.get("authorization") != f"Bearer {CONDUCTOR_TOKEN}":
            return _json(401, {})
        if request.path == ORDERS_PATH and request.method == "GET":
            return await self._give_orders(request)
        body = json.loads(request.body)
        if request.path == EPOCH_PATH:
            return self._take_over()
        return self._take_in(request.path, body) if body["epoch"] == self.epoch else _stale()

    def _take_in(self, path: str, body: dict[str, Any]) -> Response:
        if path == REPORTS_PATH:
            return self._take_reports(body)
        if path == ORDERS_PATH:
            self._done.update(body["done"])
        else:
            assert path == INVENTORY_PATH
            self.inventory = Inventory.from_json(body)
        return _json(200, {})

    def _take_over(self) -> Response:
        self.epoch += 1
        self.takeovers.append(time.monotonic())
        self._delivered.clear()
        ended = {report.attempt_id for report in self.reports if report.kind is ReportKind.ENDED}
        live = [spec for attempt_id, spec in self._specs.items() if attempt_id not in ended]
        reported = {report.attempt_id: str(report.kind) for report in self.reports}
        body = {"epoch": self.epoch, "attempts": [spec.to_json() for spec in live]}
        return _json(200, body | ({"reported": reported} if self.tells_reported else {}))

    async def _give_orders(self, request: Request) -> Response:
        if int(request.query["epoch"]) != self.epoch:
            return _stale()
        deadline = self.server.loop.time() + float(request.query["wait"])
        while not (orders := self._open_orders()):
            left = deadline - self.server.loop.time()
            if left <= 0:
                break
            self._new_order.clear()
            try:
                await asyncio.wait_for(self._new_order.wait(), min(left, 0.5))
            except TimeoutError:
                continue
        if int(request.query["epoch"]) != self.epoch:
            return _stale()
        return _json(200, {"orders": [order.to_json() for order in orders]})

    def _open_orders(self) -> list[Order]:
        now = time.monotonic()
        due = [
            order
            for order in self._orders.values()
            if order.id not in self._done and now - self._delivered.get(order.id, -9.0) > 5.0
        ]
        self._delivered.update({order.id: now for order in due})
        return due

    def _take_reports(self, body: dict[str, Any]) -> Response:
        incarnation = body["incarnation"]
        if self.unpalatable & {data["seq"] for data in body["reports"]}:
            return _json(422, {})
        for data in body["reports"]:
            report = Report.from_json(data)
            if report.seq <= self._cursors[incarnation]:
                self.num_repeats += 1
                continue
            self._cursors[incarnation] = report.seq
            self.arrived[report.attempt_id, str(report.kind)] = time.monotonic()
            self.reports.append(report)
        return _json(200, {"acked": self._cursors[incarnation]})

    def _attempt_path(self, request: Request) -> Response:
        attempt_id, _, rest = request.path.removeprefix("/runtime/v1/attempts/").partition("/")
        if request.headers.get("authorization") != f"Bearer {attempt_token(SECRET, attempt_id)}":
            return _json(401, {})
        if rest == "code":
            archive = self.archives.get(attempt_id)
            return _json(404, {}) if archive is None else Response(200, archive)
        if rest == "outputs":
            if request.query["path"] in self.refused_outputs:
                return _json(413, {})
            self.outputs[attempt_id, request.query["path"]] = request.body
            return _json(200, {})
        return self._append(attempt_id, rest.removeprefix("streams/"), request)

    def _append(self, attempt_id: str, name: str, request: Request) -> Response:
        stream = self.streams[attempt_id, name]
        offset = int(request.query["offset"])
        if offset > len(stream):
            return _json(409, {"size": len(stream)})
        stream.extend(request.body[len(stream) - offset :])
        if request.query["final"] == "true":
            self.closed.add((attempt_id, name))
        return _json(200, {"size": len(stream)})


def wait_until(is_true: Callable[[], bool], timeout: float, describe: Callable[[], object]) -> None:
    """Bounded waiting for something real to happen."""
    deadline = time.monotonic() + timeout
    while not is_true():
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {timeout} s: {describe()}")
        time.sleep(0.005)


def _stale() -> Response:
    return _json(409, {"code": "stale_epoch"})


def _json(status: int, body: dict[str, Any]) -> Response:
    return Response(status, json.dumps(body).encode())
