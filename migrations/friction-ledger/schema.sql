-- The whole current schema: what every step applied in order leaves behind. A test compares the two.

-- One row a run. Times keep their fraction. Records may be large, so the table keeps its row ids.
CREATE TABLE friction_records (
  ledger_key TEXT NOT NULL,
  run_id TEXT NOT NULL,
  finished_at REAL NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY (ledger_key, run_id)
) STRICT;

CREATE INDEX friction_records_newest ON friction_records (ledger_key, finished_at, run_id);
