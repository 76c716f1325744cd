-- The whole current schema: the result of all steps in order. A test compares the two.
-- A database holds one scope.

-- Rows are never deleted: `n` counts up from 0, and ids are never reused. `record` is the accepted candidate as JSON. It
-- changes once: to `{}`, some time after `retired_at`, when the record stopped being active. Only active rows have `normalized`, by which equal texts are found, and `tokens`, which queries search:
-- lower-case words separated by spaces.
CREATE TABLE memory_records (
  n INTEGER PRIMARY KEY,
  status TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  use_count INTEGER NOT NULL,
  record TEXT NOT NULL,
  normalized TEXT,
  tokens TEXT,
  retired_at INTEGER
) STRICT;

CREATE INDEX memory_records_active ON memory_records (n) WHERE status = 'active';
CREATE INDEX memory_records_equal ON memory_records (normalized, n) WHERE status = 'active';
CREATE INDEX memory_records_retired ON memory_records (coalesce(retired_at, created_at)) WHERE status <> 'active' AND record <> '{}';
CREATE INDEX memory_records_stale ON memory_records (coalesce(last_used_at, created_at), created_at, n) WHERE status = 'active';

-- The full-text index covers the active rows and stores no text. The tokens are ASCII, so its tokenizer splits them into
-- exactly the words that were joined.
CREATE VIEW memory_active AS SELECT n, tokens FROM memory_records WHERE status = 'active';
CREATE VIRTUAL TABLE memory_index USING fts5(tokens, content = 'memory_active', content_rowid = 'n', tokenize = 'ascii');

CREATE TRIGGER memory_records_born AFTER INSERT ON memory_records WHEN new.status = 'active' BEGIN
  INSERT INTO memory_index (rowid, tokens) VALUES (new.n, new.tokens); END;
CREATE TRIGGER memory_records_dead AFTER UPDATE OF status ON memory_records WHEN old.status = 'active' BEGIN
  INSERT INTO memory_index (memory_index, rowid, tokens) VALUES ('delete', old.n, old.tokens); END;
