-- Configuration documents (docs/reference/state-worker.md#documents). A Durable Object holds one.

-- The first put of a key writes its row. The version counts the puts.
CREATE TABLE config_documents (
  key TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  document TEXT NOT NULL
) STRICT;
