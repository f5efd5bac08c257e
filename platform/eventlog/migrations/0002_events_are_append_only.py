"""Events are facts: the database refuses to delete one, or to change more than that it was published."""

from django.db import migrations

FORBID = """
CREATE FUNCTION eventlog_events_are_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'events are append-only' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER eventlog_event_append_only
    BEFORE DELETE OR UPDATE OF job_id, seq, kind, cause, actor_id, attempt_id, data, version, at ON eventlog_event
    FOR EACH ROW EXECUTE FUNCTION eventlog_events_are_append_only();
"""

UNDO = """
DROP TRIGGER eventlog_event_append_only ON eventlog_event;
DROP FUNCTION eventlog_events_are_append_only();
"""


class Migration(migrations.Migration):
    """Adds the trigger."""

    dependencies = [("eventlog", "0001_initial")]
    operations = [migrations.RunSQL(FORBID, UNDO)]
