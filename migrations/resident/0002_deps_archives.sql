-- Archives of entries of the dependency store, by the key of their lockfiles. An archive is named before its upload, and complete once `backups` has its digest.
CREATE TABLE deps_archives (
  key TEXT PRIMARY KEY,
  backup TEXT NOT NULL
) STRICT;
