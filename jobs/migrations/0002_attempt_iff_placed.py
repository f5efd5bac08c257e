"""A job has a live attempt exactly while it is starting, running or stopping: checked when a transaction ends."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION jobs_check_live_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    checked uuid := CASE WHEN TG_TABLE_NAME = 'jobs_job' THEN NEW.id ELSE NULL END;
    placed boolean;
    live boolean;
BEGIN
    IF checked IS NULL THEN
        checked := NEW.job_id;
    END IF;
    SELECT state IN ('starting', 'running', 'stopping') INTO placed FROM jobs_job WHERE id = checked;
    IF placed IS NULL THEN
        RETURN NULL;
    END IF;
    live := EXISTS (SELECT 1 FROM jobs_attempt WHERE job_id = checked AND ended_at IS NULL);
    IF placed <> live THEN
        RAISE EXCEPTION 'job % is placed: %, has a live attempt: %', checked, placed, live
            USING ERRCODE = 'check_violation', CONSTRAINT = 'job_attempt_live_iff_placed';
    END IF;
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER job_attempt_live_iff_placed AFTER INSERT OR UPDATE OF state ON jobs_job
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION jobs_check_live_attempt();
CREATE CONSTRAINT TRIGGER job_attempt_live_iff_placed AFTER INSERT OR UPDATE OF ended_at ON jobs_attempt
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION jobs_check_live_attempt();
"""

BACKWARD = """
DROP TRIGGER job_attempt_live_iff_placed ON jobs_attempt;
DROP TRIGGER job_attempt_live_iff_placed ON jobs_job;
DROP FUNCTION jobs_check_live_attempt();
"""


class Migration(migrations.Migration):
    dependencies = [("jobs", "0001_initial")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
