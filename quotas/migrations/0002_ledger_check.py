"""The ledger's invariant, checked by the database at every commit.

What a queue has in use is what its children have in use plus what is held in the queue itself; by induction it
is the sum of live holdings in its subtree. Checked for each queue whose number or holdings were touched, and for
its parent, when the transaction ends: in between, the steps of a hold may come in any order.
"""

from django.db import migrations

CHECK = """
CREATE FUNCTION quotas_check_queue(checked uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    booked bigint;
    summed bigint;
    shown text;
BEGIN
    SELECT used_milli, path INTO booked, shown FROM quotas_queue WHERE id = checked;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT COALESCE((SELECT SUM(used_milli) FROM quotas_queue WHERE parent_id = checked), 0)
         + COALESCE((SELECT SUM(amount_milli) FROM quotas_holding
                      WHERE queue_id = checked AND released_at IS NULL), 0)
      INTO summed;
    IF booked <> summed THEN
        RAISE EXCEPTION 'queue % books % milli-accelerators, but % are held in it', shown, booked, summed
            USING ERRCODE = 'check_violation', CONSTRAINT = 'queue_used_is_what_is_held', TABLE = 'quotas_queue';
    END IF;
END $$;

CREATE FUNCTION quotas_queue_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'DELETE' THEN
        PERFORM quotas_check_queue(NEW.id);
        PERFORM quotas_check_queue(NEW.parent_id);
    END IF;
    IF TG_OP <> 'INSERT' THEN
        PERFORM quotas_check_queue(OLD.parent_id);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION quotas_holding_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'DELETE' THEN
        PERFORM quotas_check_queue(NEW.queue_id);
    END IF;
    IF TG_OP <> 'INSERT' THEN
        PERFORM quotas_check_queue(OLD.queue_id);
    END IF;
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER quotas_queue_balanced
    AFTER INSERT OR DELETE OR UPDATE OF used_milli, parent_id ON quotas_queue
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION quotas_queue_changed();
CREATE CONSTRAINT TRIGGER quotas_holding_balanced
    AFTER INSERT OR DELETE OR UPDATE OF amount_milli, released_at, queue_id ON quotas_holding
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION quotas_holding_changed();
"""

UNDO = """
DROP TRIGGER quotas_holding_balanced ON quotas_holding;
DROP TRIGGER quotas_queue_balanced ON quotas_queue;
DROP FUNCTION quotas_holding_changed();
DROP FUNCTION quotas_queue_changed();
DROP FUNCTION quotas_check_queue(uuid);
"""


class Migration(migrations.Migration):
    """Adds the check; it needs no data of its own."""

    dependencies = [("quotas", "0001_initial")]
    operations = [migrations.RunSQL(CHECK, UNDO)]
