-- `stop_actor` names the requester of `stop` for the owner's note: `{kind, id}`. NULL without one.
ALTER TABLE live_runs ADD COLUMN stop_actor TEXT;
