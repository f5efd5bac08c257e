"""The map of the cluster, and taking nodes out of use."""

from datetime import timedelta

from django.utils import timezone

from cluster.models import MaintenanceWindow, Node
from cluster.services import mark_silent_nodes
from jobs.models import Job
from tests.jobs.builders import World
from tests.web.browsing import browser_of, text_of


def test_each_device_shows_the_job_on_it(world: World) -> None:
    """With a link to it; free ones are free."""
    job, _attempt = world.running()
    page = text_of(browser_of(world.cast.viewer).get("/cluster"))
    assert page.count(f'<a href="/jobs/{job.id}" title=') == 4
    assert page.count('class="slot free"') == 4


def test_nodes_are_grouped_by_zone_and_rack(world: World) -> None:
    """Two racks in one zone."""
    response = browser_of(world.cast.viewer).get("/cluster")
    zones = response.context["zones"]
    assert [(zone.name, [rack.name for rack in zone.racks]) for zone in zones] == [
        ("z1", ["rack-n1", "rack-n2"])
    ]


def test_a_node_that_is_gone_is_shown_gone_and_leaves_the_totals(world: World) -> None:
    """Unreachable, with nothing of it counted."""
    mark_silent_nodes(now=timezone.now() + timedelta(days=3650), silence=timedelta(seconds=10))
    response = browser_of(world.cast.viewer).get("/cluster")
    assert response.context["totals"].num_accelerators == 0
    assert text_of(response).count("pill tone-unreachable") == 2


def test_colours_by_team_and_state(world: World) -> None:
    """A choice in the address; anything else is by job."""
    world.running()
    client = browser_of(world.cast.viewer)
    assert 'class="slot tone-running"' in text_of(client.get("/cluster", {"by": "state"}))
    assert "slot hue-" in text_of(client.get("/cluster", {"by": "team"}))
    assert client.get("/cluster", {"by": "nonsense"}).context["by"] == "job"


def test_nodes_are_found_by_name(world: World) -> None:
    """And an empty result says so."""
    client = browser_of(world.cast.viewer)
    page = text_of(client.get("/cluster", {"search": "N2"}))
    assert 'id="node-n2"' in page
    assert 'id="node-n1"' not in page
    assert "No node matches" in text_of(client.get("/cluster", {"search": "zzz"}))


def test_a_platform_admin_cordons_and_uncordons(world: World) -> None:
    """With a reason that everybody sees."""
    client = browser_of(world.cast.platform_admin)
    client.post("/cluster/nodes/n1/cordon", {"reason": "memory <errors>"})
    assert Node.objects.get(name="n1").cordoned
    page = text_of(browser_of(world.cast.viewer).get("/cluster"))
    assert "memory &lt;errors&gt;" in page
    assert "pill tone-cordoned" in page
    client.post("/cluster/nodes/n1/uncordon")
    assert not Node.objects.get(name="n1").cordoned


def test_others_do_not_cordon(world: World) -> None:
    """No button, and a refusal."""
    client = browser_of(world.cast.team_admin)
    assert "data-cordon=" not in text_of(client.get("/cluster"))
    assert client.post("/cluster/nodes/n1/cordon", {"reason": "x"}).status_code == 403
    assert not Node.objects.get(name="n1").cordoned
    assert (
        browser_of(world.cast.platform_admin).post("/cluster/nodes/no/cordon", {"reason": "x"}).status_code
        == 404
    )


def test_a_platform_admin_plans_maintenance_and_empties_a_node(world: World) -> None:
    """Times are the reader's; the jobs on the node are told to leave."""
    job, _attempt = world.running()
    admin = browser_of(world.cast.platform_admin)
    begin = timezone.localtime() + timedelta(hours=1)
    form = {"nodes": "n1, n2", "reason": "固件升级", "starts_at": f"{begin:%Y-%m-%dT%H:%M}"}
    admin.post("/cluster/maintenance", {**form, "ends_at": "soon"})
    assert not MaintenanceWindow.objects.exists()
    admin.post("/cluster/maintenance", {**form, "ends_at": f"{begin + timedelta(hours=2):%Y-%m-%dT%H:%M}"})
    window = MaintenanceWindow.objects.get()
    assert (window.nodes, window.starts_at) == (["n1", "n2"], begin.replace(second=0, microsecond=0))
    assert "固件升级" in text_of(browser_of(world.cast.viewer).get("/cluster"))
    admin.post(f"/cluster/maintenance/{window.id}/cancel")
    assert "固件升级" not in text_of(admin.get("/cluster"))
    admin.post("/cluster/nodes/n1/drain", {"reason": "换风扇"})
    assert Job.objects.get(id=job.id).cause == "maintenance"


def test_an_empty_cluster_says_how_nodes_come(world: World) -> None:
    """Before the first inventory."""
    Node.objects.all().delete()
    assert "No node has reported yet" in text_of(browser_of(world.cast.viewer).get("/cluster"))
