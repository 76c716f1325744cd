-- Running totals of `runs`, so that a put does not have to sum the store. Triggers maintain them. A row that a REPLACE
-- removes fires no delete trigger, so the insert trigger subtracts it.

ALTER TABLE retention ADD COLUMN run_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE retention ADD COLUMN run_bytes INTEGER NOT NULL DEFAULT 0;

UPDATE retention SET run_count = (SELECT count(*) FROM runs),
  run_bytes = (SELECT coalesce(sum(bytes), 0) FROM runs);

CREATE TRIGGER runs_counted_in BEFORE INSERT ON runs BEGIN
  UPDATE retention SET run_count = run_count + (SELECT count(*) = 0 FROM runs WHERE id = NEW.id),
    run_bytes = run_bytes + NEW.bytes - (SELECT coalesce(sum(bytes), 0) FROM runs WHERE id = NEW.id); END;

CREATE TRIGGER runs_counted_out AFTER DELETE ON runs BEGIN
  UPDATE retention SET run_count = run_count - 1, run_bytes = run_bytes - OLD.bytes; END;
