-- The registry of residents (docs/reference/residents.md#storage). One database per installation.

-- A row is a used place. `record` is the registry record as JSON.
CREATE TABLE residents (
  resource TEXT PRIMARY KEY,
  record TEXT NOT NULL
) STRICT;

-- At most one row: limits that a test lowered.
CREATE TABLE overrides (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  overrides TEXT NOT NULL
) STRICT;
