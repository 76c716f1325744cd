-- Idempotency keys, each with the run of the first request (docs/reference/ledger.md#idempotency-keys). A row is written
-- with the claim of its run.
CREATE TABLE idempotency_keys (
  subject TEXT NOT NULL,
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  run_id TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (subject, key)
) STRICT, WITHOUT ROWID;

-- Finds the expired rows, which later claims delete.
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);
