"""Each row carries the transaction that last changed what the engine decides on: `jobs.live` reads by it.

A transaction that a snapshot did not see has a number of at least that snapshot's xmin, so a reader that asks for
rows from there on misses nothing, in whatever order transactions commit. What the engine itself writes about a
waiting job (its reason, its expected start) is no change of that kind.
"""

from django.db import migrations

FORWARD = """
CREATE FUNCTION jobs_mark_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.changed_xid := pg_current_xact_id()::text::bigint;
    RETURN NEW;
END
$$;
CREATE TRIGGER job_insert_is_marked BEFORE INSERT ON jobs_job
    FOR EACH ROW EXECUTE FUNCTION jobs_mark_change();
CREATE TRIGGER job_change_is_marked BEFORE UPDATE ON jobs_job
    FOR EACH ROW WHEN (
        ROW(OLD.state, OLD.version, OLD.priority, OLD.queue_id, OLD.kept, OLD.not_before, OLD.saved_at,
            OLD.num_workers, OLD.min_workers, OLD.max_workers, OLD.max_runtime_seconds, OLD.predicted_ms,
            OLD.attained_milli_ms)
        IS DISTINCT FROM
        ROW(NEW.state, NEW.version, NEW.priority, NEW.queue_id, NEW.kept, NEW.not_before, NEW.saved_at,
            NEW.num_workers, NEW.min_workers, NEW.max_workers, NEW.max_runtime_seconds, NEW.predicted_ms,
            NEW.attained_milli_ms))
    EXECUTE FUNCTION jobs_mark_change();
"""

BACKWARD = """
DROP TRIGGER job_change_is_marked ON jobs_job;
DROP TRIGGER job_insert_is_marked ON jobs_job;
DROP FUNCTION jobs_mark_change();
"""


class Migration(migrations.Migration):
    dependencies = [("jobs", "0003_engine_contract")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
