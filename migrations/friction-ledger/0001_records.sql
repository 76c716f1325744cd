-- Diagnoses of runs (docs/reference/friction.md#routes). A Durable Object holds one ledger; an embedded store holds all
-- of them, hence the first column of the key.

-- One row per run. Times keep their fraction. Records may be large, so the table has row ids.
CREATE TABLE friction_records (
  ledger_key TEXT NOT NULL,
  run_id TEXT NOT NULL,
  finished_at REAL NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY (ledger_key, run_id)
) STRICT;

CREATE INDEX friction_records_newest ON friction_records (ledger_key, finished_at, run_id);
