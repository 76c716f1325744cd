-- Live runs (state-worker supplement section 9). Their events are in `run_events` beside those of finished runs.

-- What changes while a run lives. Every heartbeat writes the row anew, so what is large and stays as it was claimed is
-- in `live_specs`. `state` is the dispatcher's: as a rule small, at most what a request may hold (512 KiB).
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

-- What a run was claimed with: JSON, but for the system prompt.
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

-- Work to be done after a run, one row of a kind; no route writes it yet.
CREATE TABLE live_jobs (
  run_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  payload TEXT NOT NULL,
  PRIMARY KEY (run_id, kind)
) STRICT, WITHOUT ROWID;
