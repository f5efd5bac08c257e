"""A node carries the transaction that last changed what the engine plans with; its metrics, which come every
second, do not count. Readers ask for what changed since: see `jobs.live`.
"""

from django.db import migrations

FORWARD = """
CREATE FUNCTION cluster_mark_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.changed_xid := pg_current_xact_id()::text::bigint;
    RETURN NEW;
END
$$;
CREATE TRIGGER node_insert_is_marked BEFORE INSERT ON cluster_node
    FOR EACH ROW EXECUTE FUNCTION cluster_mark_change();
CREATE TRIGGER node_change_is_marked BEFORE UPDATE ON cluster_node
    FOR EACH ROW WHEN (
        ROW(OLD.name, OLD.state, OLD.cordoned, OLD.labels, OLD.accelerator_type, OLD.num_accelerators,
            OLD.cpus_milli, OLD.memory_bytes)
        IS DISTINCT FROM
        ROW(NEW.name, NEW.state, NEW.cordoned, NEW.labels, NEW.accelerator_type, NEW.num_accelerators,
            NEW.cpus_milli, NEW.memory_bytes))
    EXECUTE FUNCTION cluster_mark_change();
"""

BACKWARD = """
DROP TRIGGER node_change_is_marked ON cluster_node;
DROP TRIGGER node_insert_is_marked ON cluster_node;
DROP FUNCTION cluster_mark_change();
"""


class Migration(migrations.Migration):
    dependencies = [("cluster", "0002_maintenance_windows")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
