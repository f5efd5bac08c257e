"""Reports on disk while the portal is away, and their way out."""

from pathlib import Path

from ray_runtime.portal_link import PortalLink
from ray_runtime.protocol import EndCause, Report, ReportKind
from ray_runtime.report_book import ReportBook, deliver_left_spools
from ray_runtime.spool import Spool, left_spools
from ray_runtime.states import Outcome
from ray_runtime.task_set import TaskSet
from tests.runtime.fake_portal import CONDUCTOR_TOKEN, FakePortal
from tests.runtime.patience import until
from tests.runtime.specs import a_spec


def a_report(seq: int, kind: ReportKind = ReportKind.RUNNING) -> Report:
    """Any report."""
    return Report(seq=seq, kind=kind, job_id="j", attempt_id=f"a{seq}", at_ms=seq)


def test_a_spool_gives_back_what_it_was_given(tmp_path: Path) -> None:
    """In order, over several appends; nothing once it is cleared."""
    spool = Spool(tmp_path, incarnation="x")
    spool.append([a_report(1), a_report(2)])
    spool.append([a_report(3)])
    assert Spool(tmp_path, incarnation="x").read() == [a_report(1), a_report(2), a_report(3)]
    spool.clear()
    assert spool.read() == []


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    """The conductor was killed while it wrote."""
    spool = Spool(tmp_path, incarnation="x")
    spool.append([a_report(1)])
    with (tmp_path / "x.jsonl").open("a") as file:
        file.write('{"seq": 2, "kind": "runn')
    assert spool.read() == [a_report(1)]


def test_only_the_spools_of_others_are_left(tmp_path: Path) -> None:
    """One's own is not delivered twice."""
    Spool(tmp_path, incarnation="old").append([a_report(1)])
    Spool(tmp_path, incarnation="new").append([a_report(1)])
    assert [spool.incarnation for spool in left_spools(tmp_path, except_for="new")] == ["old"]
    assert left_spools(tmp_path / "nothing", except_for="new") == []


async def test_reports_arrive_once_and_in_order_through_an_outage(tmp_path: Path, portal: FakePortal) -> None:
    """Some before it, some during it; lost answers repeat nothing at the portal."""
    link = PortalLink(portal.url, token=CONDUCTOR_TOKEN, incarnation="x")
    await link.take_over()
    book = ReportBook(link, Spool(tmp_path, incarnation="x"))
    tasks = TaskSet()
    tasks.spawn(book.run())
    spec = a_spec("true", nodes=["n1"], checkpoints=tmp_path)
    book.add(ReportKind.FORMING, spec)
    await until(lambda: len(portal.reports) == 1)
    portal.server.go_down()
    book.add(ReportKind.RUNNING, spec)
    await until(lambda: len(Spool(tmp_path, incarnation="x").read()) == 1)
    acked = book.add_end(spec.attempt_id, Outcome(cause=EndCause.COMPLETED), job_id=spec.job_id)
    portal.server.drop_answers = 2
    portal.server.come_up()
    await until(acked.is_set)
    assert portal.kinds(spec.attempt_id) == ["forming", "running", "ended"]
    assert [report.seq for report in portal.reports] == [1, 2, 3]
    await until(lambda: Spool(tmp_path, incarnation="x").read() == [])
    await tasks.cancel()


async def test_an_earlier_conductors_reports_keep_their_numbers(tmp_path: Path, portal: FakePortal) -> None:
    """What the portal already has of them is not taken twice."""
    first = PortalLink(portal.url, token=CONDUCTOR_TOKEN, incarnation="old")
    await first.take_over()
    await first.send_reports([a_report(1)], incarnation="old")
    Spool(tmp_path, incarnation="old").append([a_report(1), a_report(2)])
    link = PortalLink(portal.url, token=CONDUCTOR_TOKEN, incarnation="new")
    await link.take_over()
    assert await deliver_left_spools(link, folder=tmp_path)
    assert [report.seq for report in portal.reports] == [1, 2]
    assert not await deliver_left_spools(link, folder=tmp_path)


async def test_a_report_that_the_portal_cannot_take_does_not_hold_up_the_rest(
    tmp_path: Path, portal: FakePortal
) -> None:
    """It is found, logged and dropped; the others arrive."""
    portal.unpalatable = {2}
    link = PortalLink(portal.url, token=CONDUCTOR_TOKEN, incarnation="x")
    await link.take_over()
    book = ReportBook(link, Spool(tmp_path, incarnation="x"))
    specs = [a_spec("true", nodes=["n1"], checkpoints=tmp_path) for _ in range(3)]
    for spec in specs:
        book.add(ReportKind.RUNNING, spec)
    tasks = TaskSet()
    tasks.spawn(book.run())
    await until(lambda: [report.seq for report in portal.reports] == [1, 3])
    await tasks.cancel()
