-- When a record stopped being active, so that its text can be deleted later (docs/reference/memory.md#retention). Rows of
-- earlier releases have none. `record` is `{}` once the text is deleted.
ALTER TABLE memory_records ADD COLUMN retired_at INTEGER;

CREATE INDEX memory_records_retired ON memory_records (coalesce(retired_at, created_at)) WHERE status <> 'active' AND record <> '{}';
