-- Configuration documents (state-worker supplement section 14). On the edge a database holds one.

-- A row is written by the first put of its key. Its version is how often the document was put.
CREATE TABLE config_documents (
  key TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  document TEXT NOT NULL
) STRICT;
