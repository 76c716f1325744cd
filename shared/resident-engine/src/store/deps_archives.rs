//! Dependency store archives, by lockfile key.
//!
//! An archive is named before the upload, so that no sweep deletes it meanwhile, and it is complete
//! once its digest is stored. Not here: the upload, and deleting archives that are not named any
//! more.

use ars_resident::names::{BackupId, LockfileKey};
use ars_sql::{Sql, Value};

use super::Store;
use crate::Fault;

const NAME: &str = "INSERT OR REPLACE INTO deps_archives (key, backup) VALUES (?1, ?2)";
const COMPLETE: &str = "SELECT deps_archives.backup FROM deps_archives JOIN backups ON backups.id = deps_archives.backup \
    WHERE deps_archives.key = ?1 AND backups.sha256 <> ''";
const FINISH: &str = "UPDATE backups SET sha256 = ?1 WHERE id = ?2 \
    AND EXISTS (SELECT 1 FROM deps_archives WHERE key = ?3 AND backup = ?2) RETURNING id";

impl<S: Sql> Store<S> {
    /// Returns a key's complete archive.
    pub(crate) fn deps_archive(&self, key: &LockfileKey) -> Result<Option<BackupId>, Fault> {
        let rows = self.sql.query(COMPLETE, &[key.as_str().into()])?;
        Ok(rows
            .first()
            .and_then(|row| BackupId::parse(row.text(0).ok()?).ok()))
    }

    /// Names a key's new archive, before the upload. An earlier archive is named no more.
    pub(crate) fn begin_deps_archive(
        &self,
        key: &LockfileKey,
        backup: &BackupId,
    ) -> Result<(), Fault> {
        self.atomically(|| {
            self.begin_backup(backup)?;
            Ok(self
                .sql
                .execute(NAME, &[key.as_str().into(), backup.as_str().into()])?)
        })
    }

    /// Stores an uploaded archive's digest. Returns `false` if it is named no more.
    pub(crate) fn finish_deps_archive(
        &self,
        key: &LockfileKey,
        backup: &BackupId,
        sha256: &str,
    ) -> Result<bool, Fault> {
        let values = [
            Value::from(sha256),
            backup.as_str().into(),
            key.as_str().into(),
        ];
        Ok(!self.sql.query(FINISH, &values)?.is_empty())
    }

    /// Returns all archives that are named, also those with an upload in progress.
    pub(crate) fn deps_backups(&self) -> Result<Vec<BackupId>, Fault> {
        let rows = self.sql.query("SELECT backup FROM deps_archives", &[])?;
        Ok(rows
            .iter()
            .filter_map(|row| BackupId::parse(row.text(0).ok()?).ok())
            .collect())
    }

    /// Forgets a key's archive. The next sweep deletes it.
    pub(crate) fn forget_deps_archive(&self, key: &LockfileKey) -> Result<(), Fault> {
        Ok(self.sql.execute(
            "DELETE FROM deps_archives WHERE key = ?1",
            &[key.as_str().into()],
        )?)
    }

    /// Forgets the archives for all other keys.
    pub(crate) fn keep_deps_archives(&self, keys: &[LockfileKey]) -> Result<(), Fault> {
        let rows = self.sql.query("SELECT key FROM deps_archives", &[])?;
        let archived = rows
            .iter()
            .filter_map(|row| LockfileKey::parse(row.text(0).ok()?).ok());
        archived
            .filter(|key| !keys.contains(key))
            .try_for_each(|key| self.forget_deps_archive(&key))
    }
}
