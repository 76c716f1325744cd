-- The whole current schema: what every step applied in order leaves behind. A test compares the two.

-- A row is written by the first put of its key. Its version is how often the document was put.
CREATE TABLE config_documents (
  key TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  document TEXT NOT NULL
) STRICT;
