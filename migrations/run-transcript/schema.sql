-- The whole current schema: the result of all steps in order. A test compares the two.

-- The generation that may write.
CREATE TABLE transcript_owners (
  run_id TEXT PRIMARY KEY,
  gen TEXT NOT NULL,
  written_at INTEGER
) STRICT, WITHOUT ROWID;

-- One row per content part. `json` is opaque. Parts may be large, so the table has row ids.
CREATE TABLE transcript_rows (
  run_id TEXT NOT NULL,
  idx INTEGER NOT NULL,
  part INTEGER NOT NULL,
  json TEXT NOT NULL,
  PRIMARY KEY (run_id, idx, part)
) STRICT;

-- Attachments that parts refer to, stored once.
CREATE TABLE transcript_attachments (
  run_id TEXT NOT NULL,
  ref TEXT NOT NULL,
  media_type TEXT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (run_id, ref)
) STRICT;
