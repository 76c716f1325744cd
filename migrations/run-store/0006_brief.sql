-- `brief` is the record with its size and without its diagnosis, so that a list reads no more than it shows. It is NULL
-- in rows of an earlier release, and for a record with large other fields.
ALTER TABLE runs ADD COLUMN brief TEXT;

-- Cover the search of a list of one agent or channel. Building them reads every row once, and retention limits the rows.
CREATE INDEX runs_of_agent ON runs (agent, finished_at, id, channel_id, user_id, repo, visibility);
CREATE INDEX runs_of_channel ON runs (channel_id, finished_at, id, agent, user_id, repo, visibility);
