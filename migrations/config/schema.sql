-- The whole current schema: the result of all steps in order. A test compares the two.

-- The first put of a key writes its row. The version counts the puts.
CREATE TABLE config_documents (
  key TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  document TEXT NOT NULL
) STRICT;
