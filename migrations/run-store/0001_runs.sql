-- Records of ended runs, their events, and the retention policy (docs/reference/state-worker.md#run-history). Times and
-- counts of a record may be any finite number, hence REAL.

-- `record` is the record without its events. Lists filter and order by the columns before it. An absent agent or
-- repository is stored as empty text: a list of runs with an empty agent therefore reads `record` too, and no list can
-- select an empty repository.
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
  record TEXT NOT NULL
) STRICT;

-- Covers the search of a list: the table is read only for returned rows.
CREATE INDEX runs_newest ON runs (finished_at, id, bytes, agent, channel_id, user_id, repo, visibility);

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
  floor_id TEXT NOT NULL
) STRICT;

INSERT INTO retention VALUES (1, 30, 5000, 2147483648, 0, -9007199254740991, '');
