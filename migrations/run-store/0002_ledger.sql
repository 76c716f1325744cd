-- Live runs (docs/reference/ledger.md#row). Their events are in `run_events` with those of ended runs.

-- The mutable part of a live run. Every heartbeat rewrites the row, so large immutable values are in `live_specs`.
-- `state` is usually small, and at most as large as a request (512 KiB).
CREATE TABLE live_runs (
  run_id TEXT PRIMARY KEY,
  thread_key TEXT NOT NULL UNIQUE,
  owner_gen TEXT NOT NULL,
  lease_until REAL NOT NULL,
  started_at REAL NOT NULL,
  phase TEXT NOT NULL CHECK (phase IN ('live', 'handoff', 'finishing')),
  stop TEXT CHECK (stop IN ('soft', 'hard')),
  state TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The immutable part of a live run: JSON, except for the system prompt.
CREATE TABLE live_specs (
  run_id TEXT PRIMARY KEY,
  meta TEXT NOT NULL,
  card TEXT,
  system TEXT NOT NULL,
  tools TEXT NOT NULL
) STRICT;

CREATE TABLE live_steps (
  run_id TEXT NOT NULL,
  step INTEGER NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY (run_id, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE live_inbox (
  run_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;

-- Work after a run, one row per kind; no route writes it.
CREATE TABLE live_jobs (
  run_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  payload TEXT NOT NULL,
  PRIMARY KEY (run_id, kind)
) STRICT, WITHOUT ROWID;
