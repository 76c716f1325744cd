-- The whole current schema: the result of all steps in order. A test compares the two.

-- `record` is the record without its events. Lists filter and order by the columns before it. An absent agent or
-- repository is stored as empty text: a list of runs with an empty agent therefore reads `record` too, and no list can
-- select an empty repository. `plain` is 1 if `record` is returned unchanged. `brief` is the record with its size and
-- without its diagnosis, so that a list reads no more than it shows. It is NULL in rows of an earlier release, and for a
-- record with large other fields.
CREATE TABLE runs (
  id TEXT PRIMARY KEY,
  finished_at REAL NOT NULL,
  event_count REAL NOT NULL,
  bytes INTEGER NOT NULL,
  agent TEXT NOT NULL,
  channel_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  repo TEXT NOT NULL,
  visibility TEXT NOT NULL,
  stored_at INTEGER NOT NULL,
  record TEXT NOT NULL,
  plain INTEGER NOT NULL DEFAULT 0,
  brief TEXT
) STRICT;

-- Covers the search of a list: the table is read only for returned rows.
CREATE INDEX runs_newest ON runs (finished_at, id, bytes, agent, channel_id, user_id, repo, visibility);

-- Cover the search of a list of one agent or channel.
CREATE INDEX runs_of_agent ON runs (agent, finished_at, id, channel_id, user_id, repo, visibility);
CREATE INDEX runs_of_channel ON runs (channel_id, finished_at, id, agent, user_id, repo, visibility);

CREATE TABLE run_events (
  run_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  event TEXT NOT NULL,
  PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;

-- One row: the accepted policy, and the newest run that its count or bytes exclude (`floor`), so that a read does not
-- have to sum the store.
CREATE TABLE retention (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  retention_days INTEGER NOT NULL,
  max_runs INTEGER NOT NULL,
  max_bytes INTEGER NOT NULL,
  policy_updated_at REAL NOT NULL,
  floor_at REAL NOT NULL,
  floor_id TEXT NOT NULL,
  run_count INTEGER NOT NULL DEFAULT 0,
  run_bytes INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO retention VALUES (1, 30, 5000, 2147483648, 0, -9007199254740991, '', 0, 0);

-- Running totals of `runs`. A row that a REPLACE removes fires no delete trigger, so the insert trigger subtracts it.
CREATE TRIGGER runs_counted_in BEFORE INSERT ON runs BEGIN
  UPDATE retention SET run_count = run_count + (SELECT count(*) = 0 FROM runs WHERE id = NEW.id),
    run_bytes = run_bytes + NEW.bytes - (SELECT coalesce(sum(bytes), 0) FROM runs WHERE id = NEW.id); END;

CREATE TRIGGER runs_counted_out AFTER DELETE ON runs BEGIN
  UPDATE retention SET run_count = run_count - 1, run_bytes = run_bytes - OLD.bytes; END;

-- Live runs. Their events are in `run_events` with those of ended runs.

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
  state TEXT NOT NULL,
  stop_actor TEXT
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

-- Idempotency keys, each with the run of the first request (docs/reference/ledger.md#idempotency-keys). A row is written
-- with the claim of its run.
CREATE TABLE idempotency_keys (
  subject TEXT NOT NULL,
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  run_id TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (subject, key)
) STRICT, WITHOUT ROWID;

-- Finds the expired rows, which later claims delete.
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);
