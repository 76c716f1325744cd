-- The whole current schema: what every step applied in order leaves behind. A test compares the two.

-- Append-only but for the bound. A new row's `nth` is above that of every row there is, so it tells which of two
-- firings of the same time was written later. Times keep their fraction.
CREATE TABLE firings (
  nth INTEGER PRIMARY KEY,
  schedule TEXT NOT NULL,
  fired_at REAL NOT NULL,
  firing TEXT NOT NULL
) STRICT;

CREATE INDEX firings_newest ON firings (schedule, fired_at, nth);
