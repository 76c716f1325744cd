-- The whole current schema: the result of all steps in order. A test compares the two.

-- One row. `cycle_runtime` is the container in which the cycle began. `record` is the registry record, NULL for a resident that was never onboarded or was removed. `lifecycle` is
-- the state machine with its cycle and snapshot, `pool` the users in use with their holders, threads and operations.
CREATE TABLE resident (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  record TEXT,
  lifecycle TEXT NOT NULL,
  pool TEXT NOT NULL,
  operations INTEGER NOT NULL,
  sweep_at INTEGER,
  cycle_runtime TEXT,
  disk TEXT
) STRICT;

-- Bindings of threads. They stay after their trees were removed. `credential` describes the token in the tree, without it.
CREATE TABLE threads (
  thread_key TEXT PRIMARY KEY,
  binding TEXT NOT NULL,
  last_attach_at INTEGER NOT NULL,
  credential TEXT
) STRICT;

CREATE INDEX threads_recent ON threads (last_attach_at);

-- Durations of the last attaches.
CREATE TABLE attaches (
  n INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  ms INTEGER NOT NULL
) STRICT;

-- Checkpoints of unsaved work, below `refs/ars` of the mirror.
CREATE TABLE checkpoints (
  n INTEGER PRIMARY KEY,
  thread_key TEXT NOT NULL,
  ref TEXT NOT NULL,
  sha TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;

-- Digests of archives, by which a restore recognizes a damaged one.
CREATE TABLE backups (
  id TEXT PRIMARY KEY,
  sha256 TEXT NOT NULL
) STRICT;

-- Archives of entries of the dependency store, by the key of their lockfiles. An archive is named before its upload, and complete once `backups` has its digest.
CREATE TABLE deps_archives (
  key TEXT PRIMARY KEY,
  backup TEXT NOT NULL
) STRICT;
