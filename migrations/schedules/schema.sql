-- The whole current schema: the result of all steps in order. A test compares the two.

-- Append-only, except for the bound. A new row's `nth` is the largest, so of two firings with the same time it identifies
-- the later write. Times keep their fraction.
CREATE TABLE firings (
  nth INTEGER PRIMARY KEY,
  schedule TEXT NOT NULL,
  fired_at REAL NOT NULL,
  firing TEXT NOT NULL
) STRICT;

CREATE INDEX firings_newest ON firings (schedule, fired_at, nth);
