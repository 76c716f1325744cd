-- `written_at` is the time of the last write, by which a transcript that was not cleared is deleted. It is NULL for owners
-- of an earlier release, until a sweep or a write sets it.
ALTER TABLE transcript_owners ADD COLUMN written_at INTEGER;
