-- 1 if `record` is returned unchanged, as nearly every record is, so that a list does not have to parse it. Any other
-- number denotes the categories of another version.
ALTER TABLE runs ADD COLUMN plain INTEGER NOT NULL DEFAULT 0;
