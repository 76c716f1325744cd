-- The whole current schema: the result of all steps in order. A test compares the two.

-- One row per run. Times keep their fraction. Records may be large, so the table has row ids.
CREATE TABLE friction_records (
  ledger_key TEXT NOT NULL,
  run_id TEXT NOT NULL,
  finished_at REAL NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY (ledger_key, run_id)
) STRICT;

CREATE INDEX friction_records_newest ON friction_records (ledger_key, finished_at, run_id);
