//! A single resident's state as SQL. Every method is synchronous: a change has no `await` inside.

mod deps_archives;

use ars_resident::daemon::SavedCheckpoint;
use ars_resident::disk::Sample;
use ars_resident::document::read;
use ars_resident::lifecycle::Resident;
use ars_resident::names::{BackupId, Sha, StrictThreadKey};
use ars_resident::pool::{Holder, Pool, PoolUser};
use ars_resident::registry::Record;
use ars_resident::saved_work::NAMESPACE;
use ars_resident::thread::Binding;
use ars_sql::{Migration, Row, Sql, SqlError, Value, migrate};
use ars_types::{RunId, UnixMillis};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Fault;

/// A resident's migrations, `migrations/resident/`.
pub const RESIDENT_MIGRATIONS: &[Migration] = &[
    Migration {
        name: "0001_resident",
        sql: include_str!("../../../migrations/resident/0001_resident.sql"),
    },
    Migration {
        name: "0002_deps_archives",
        sql: include_str!("../../../migrations/resident/0002_deps_archives.sql"),
    },
];

/// Number of attach durations that are kept.
const ATTACHES_MAX: i64 = 256;
/// Maximum number of a run's checkpoints that a restore looks for.
const TRIED_MAX: i64 = 32;

/// Writes the resident's row. The columns that a statement does not name stay.
const SAVE: &str = "INSERT INTO resident (id, record, lifecycle, pool, operations) VALUES (1, NULL, ?1, '{}', 0) \
    ON CONFLICT (id) DO UPDATE SET lifecycle = excluded.lifecycle";
const SAVE_RECORD: &str = "INSERT INTO resident (id, record, lifecycle, pool, operations) VALUES (1, ?1, ?2, '{}', 0) \
    ON CONFLICT (id) DO UPDATE SET record = excluded.record";
const BIND: &str = "INSERT INTO threads (thread_key, binding, last_attach_at, credential) VALUES (?1, ?2, ?3, ?4) \
    ON CONFLICT (thread_key) DO UPDATE SET binding = excluded.binding, \
    last_attach_at = excluded.last_attach_at, credential = excluded.credential";
const RECENT: &str = "SELECT ms FROM attaches ORDER BY n DESC";
/// Tables that a removed resident empties.
const TABLES: [&str; 5] = [
    "threads",
    "attaches",
    "checkpoints",
    "backups",
    "deps_archives",
];

/// The token in a tree, without the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredCredential {
    /// When it was last written.
    pub written_at: UnixMillis,
    /// When it expires, if known.
    pub expires_at: Option<UnixMillis>,
}

/// A single resident's state in a database.
pub(crate) struct Store<S> {
    sql: S,
}

impl<S: Sql> Store<S> {
    pub(crate) fn open(sql: S) -> Result<Self, Fault> {
        migrate(&sql, RESIDENT_MIGRATIONS)?;
        Ok(Self { sql })
    }

    /// Runs a change atomically. It must not call another change.
    pub(crate) fn atomically<T>(
        &self,
        change: impl FnOnce() -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.sql.transaction(change)
    }

    /// Returns the state machine. A resident without a row has none yet.
    pub(crate) fn lifecycle(&self) -> Result<Resident, Fault> {
        Ok(self.column("lifecycle")?.unwrap_or_default())
    }

    /// Writes the state machine. A blank machine deletes the row.
    pub(crate) fn save_lifecycle(&self, lifecycle: &Resident) -> Result<(), Fault> {
        if lifecycle.is_blank() {
            return Ok(self.sql.execute("DELETE FROM resident", &[])?);
        }
        Ok(self.sql.execute(SAVE, &[json(lifecycle)?])?)
    }

    /// Returns the registry record as last changed.
    pub(crate) fn record(&self) -> Result<Option<Record>, Fault> {
        self.column("record")
    }

    /// Writes the record, also for a resident without a state yet.
    pub(crate) fn save_record(&self, record: &Record) -> Result<(), Fault> {
        Ok(self
            .sql
            .execute(SAVE_RECORD, &[json(record)?, json(&Resident::default())?])?)
    }

    pub(crate) fn pool(&self) -> Result<Pool, Fault> {
        Ok(self.column("pool")?.unwrap_or_default())
    }

    pub(crate) fn save_pool(&self, pool: &Pool) -> Result<(), Fault> {
        self.set("pool", json(pool)?)
    }

    /// Returns the number for a new operation.
    pub(crate) fn next_operation(&self) -> Result<u64, Fault> {
        let rows = self.sql.query(
            "UPDATE resident SET operations = operations + 1 RETURNING operations",
            &[],
        )?;
        let number = rows.first().map_or(Ok(0), |row| row.integer(0))?;
        Ok(u64::try_from(number).unwrap_or_default())
    }

    /// Returns when the next sweep is due.
    pub(crate) fn sweep_at(&self) -> Result<Option<UnixMillis>, Fault> {
        self.integer("sweep_at")
    }

    pub(crate) fn save_sweep_at(&self, at: Option<UnixMillis>) -> Result<(), Fault> {
        self.set("sweep_at", at.into())
    }

    /// Returns the container in which the cycle began.
    pub(crate) fn cycle_runtime(&self) -> Result<Option<String>, Fault> {
        let rows = self.sql.query("SELECT cycle_runtime FROM resident", &[])?;
        Ok(rows
            .into_iter()
            .next()
            .and_then(|row| row.into_text(0).ok()))
    }

    pub(crate) fn save_cycle_runtime(&self, runtime: &str) -> Result<(), Fault> {
        self.set("cycle_runtime", runtime.into())
    }

    pub(crate) fn disk(&self) -> Result<Option<Sample>, Fault> {
        self.column("disk")
    }

    pub(crate) fn save_disk(&self, sample: &Sample) -> Result<(), Fault> {
        self.set("disk", json(sample)?)
    }

    /// Returns all bindings, newest attach first.
    pub(crate) fn bindings(&self) -> Result<Vec<Binding>, Fault> {
        let rows = self.sql.query(
            "SELECT binding FROM threads ORDER BY last_attach_at DESC, thread_key",
            &[],
        )?;
        rows.iter().map(|row| parse(row, 0)).collect()
    }

    pub(crate) fn binding(&self, thread: &StrictThreadKey) -> Result<Option<Binding>, Fault> {
        let rows = self.sql.query(
            "SELECT binding FROM threads WHERE thread_key = ?1",
            &[thread.as_str().into()],
        )?;
        rows.first().map(|row| parse(row, 0)).transpose()
    }

    pub(crate) fn save_binding(
        &self,
        binding: &Binding,
        credential: Option<StoredCredential>,
    ) -> Result<(), Fault> {
        let credential = credential
            .as_ref()
            .map(json)
            .transpose()?
            .unwrap_or(Value::Null);
        let key = Value::from(binding.thread_key.as_str());
        let last = Value::from(binding.last_attach_at);
        Ok(self
            .sql
            .execute(BIND, &[key, json(binding)?, last, credential])?)
    }

    pub(crate) fn remove_binding(&self, thread: &StrictThreadKey) -> Result<(), Fault> {
        Ok(self.sql.execute(
            "DELETE FROM threads WHERE thread_key = ?1",
            &[thread.as_str().into()],
        )?)
    }

    pub(crate) fn credential(
        &self,
        thread: &StrictThreadKey,
    ) -> Result<Option<StoredCredential>, Fault> {
        let rows = self.sql.query(
            "SELECT credential FROM threads WHERE thread_key = ?1",
            &[thread.as_str().into()],
        )?;
        rows.first()
            .filter(|row| !row.is_null(0))
            .map(|row| parse(row, 0))
            .transpose()
    }

    pub(crate) fn save_credential(
        &self,
        thread: &StrictThreadKey,
        credential: StoredCredential,
    ) -> Result<(), Fault> {
        let update = "UPDATE threads SET credential = ?2 WHERE thread_key = ?1";
        Ok(self
            .sql
            .execute(update, &[thread.as_str().into(), json(&credential)?])?)
    }

    /// Records how long an attach took and drops the oldest durations.
    pub(crate) fn add_attach(&self, at: UnixMillis, ms: i64) -> Result<(), Fault> {
        self.sql.execute(
            "INSERT INTO attaches (at, ms) VALUES (?1, ?2)",
            &[at.into(), ms.into()],
        )?;
        let trim = "DELETE FROM attaches WHERE n <= (SELECT max(n) FROM attaches) - ?1";
        Ok(self.sql.execute(trim, &[ATTACHES_MAX.into()])?)
    }

    /// Returns how long the last attaches took, newest first.
    pub(crate) fn attaches(&self) -> Result<Vec<i64>, Fault> {
        let rows = self.sql.query(RECENT, &[])?;
        Ok(rows
            .iter()
            .map(|row| row.integer(0))
            .collect::<Result<_, SqlError>>()?)
    }

    /// Remembers a checkpoint. An answer that was lost is repeated, which changes nothing.
    pub(crate) fn add_checkpoint(
        &self,
        thread: &StrictThreadKey,
        saved: &SavedCheckpoint,
        at: UnixMillis,
    ) -> Result<(), Fault> {
        let insert = "INSERT INTO checkpoints (thread_key, ref, sha, at) SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS \
                      (SELECT 1 FROM checkpoints WHERE thread_key = ?1 AND ref = ?2 AND sha = ?3)";
        let values = [
            thread.as_str().into(),
            saved.git_ref.as_str().into(),
            saved.sha.as_str().into(),
            Value::from(at),
        ];
        Ok(self.sql.execute(insert, &values)?)
    }

    /// Returns the ref of a thread's last checkpoint.
    pub(crate) fn last_checkpoint(
        &self,
        thread: &StrictThreadKey,
    ) -> Result<Option<String>, Fault> {
        let select = "SELECT ref FROM checkpoints WHERE thread_key = ?1 ORDER BY n DESC LIMIT 1";
        let rows = self.sql.query(select, &[thread.as_str().into()])?;
        Ok(rows
            .into_iter()
            .next()
            .map(|row| row.into_text(0))
            .transpose()?)
    }

    /// Returns the checkpoints that a run made for a thread, newest first.
    pub(crate) fn checkpoints_of(
        &self,
        thread: &StrictThreadKey,
        run: &RunId,
    ) -> Result<Vec<(String, Sha)>, Fault> {
        let select = "SELECT ref, sha FROM checkpoints WHERE thread_key = ?1 AND substr(ref, 1, length(?2)) = ?2 \
                      ORDER BY n DESC LIMIT ?3";
        let namespace = format!("{NAMESPACE}/{run}/");
        let values = [
            thread.as_str().into(),
            namespace.as_str().into(),
            Value::from(TRIED_MAX),
        ];
        let rows = self.sql.query(select, &values)?;
        let parse = |row: Row| {
            Some((
                row.text(0).ok()?.to_owned(),
                Sha::parse(row.text(1).ok()?).ok()?,
            ))
        };
        Ok(rows.into_iter().filter_map(parse).collect())
    }

    /// Returns when any thread last made a checkpoint.
    pub(crate) fn last_checkpoint_at(&self) -> Result<Option<UnixMillis>, Fault> {
        let rows = self
            .sql
            .query("SELECT at FROM checkpoints ORDER BY at DESC LIMIT 1", &[])?;
        Ok(rows.first().map(|row| row.integer(0)).transpose()?)
    }

    /// Counts the checkpoints over all threads.
    pub(crate) fn checkpoint_count(&self) -> Result<u32, Fault> {
        let rows = self.sql.query("SELECT count(*) FROM checkpoints", &[])?;
        let count = rows.first().map(|row| row.integer(0)).transpose()?;
        Ok(count
            .and_then(|count| u32::try_from(count).ok())
            .unwrap_or_default())
    }

    /// Remembers an archive before the upload.
    pub(crate) fn begin_backup(&self, id: &BackupId) -> Result<(), Fault> {
        self.add_backup(id, "")
    }

    /// Returns the archives that exist, or that an upload may have left.
    pub(crate) fn backups(&self) -> Result<Vec<BackupId>, Fault> {
        let rows = self.sql.query("SELECT id FROM backups", &[])?;
        Ok(rows
            .iter()
            .filter_map(|row| BackupId::parse(row.text(0).ok()?).ok())
            .collect())
    }

    /// Remembers an archive's digest.
    pub(crate) fn add_backup(&self, id: &BackupId, sha256: &str) -> Result<(), Fault> {
        let insert = "INSERT OR REPLACE INTO backups (id, sha256) VALUES (?1, ?2)";
        Ok(self
            .sql
            .execute(insert, &[id.as_str().into(), sha256.into()])?)
    }

    pub(crate) fn backup_digest(&self, id: &BackupId) -> Result<Option<String>, Fault> {
        let select = "SELECT sha256 FROM backups WHERE id = ?1 AND sha256 <> ''";
        let rows = self.sql.query(select, &[id.as_str().into()])?;
        Ok(rows
            .into_iter()
            .next()
            .map(|row| row.into_text(0))
            .transpose()?)
    }

    pub(crate) fn forget_backups(&self, ids: &[BackupId]) -> Result<(), Fault> {
        for id in ids {
            self.sql
                .execute("DELETE FROM backups WHERE id = ?1", &[id.as_str().into()])?;
        }
        Ok(())
    }

    /// Empties everything but the resident's row, which the state machine needs for the last step.
    pub(crate) fn clear(&self) -> Result<(), Fault> {
        self.atomically(|| {
            for table in TABLES {
                self.sql.execute(&format!("DELETE FROM {table}"), &[])?;
            }
            self.sql.execute(
                "UPDATE resident SET pool = '{}', sweep_at = NULL, disk = NULL",
                &[],
            )?;
            Ok(())
        })
    }

    /// Returns pool users without work: from operations, and from attaches that did not end.
    pub(crate) fn orphans(&self) -> Result<Vec<(PoolUser, Holder)>, Fault> {
        let pool = self.pool()?;
        let bindings = self.bindings()?;
        let is_bound = |key: &StrictThreadKey| {
            bindings
                .iter()
                .any(|row| row.thread_key == *key && row.user.is_some())
        };
        let threads = pool
            .threads()
            .filter(|key| !is_bound(key))
            .map(Holder::Thread);
        let holders = pool.ops().map(Holder::Op).chain(threads);
        Ok(holders
            .filter_map(|holder| Some((pool.user_of(&holder)?, holder)))
            .collect())
    }

    fn column<T: DeserializeOwned>(&self, name: &'static str) -> Result<Option<T>, Fault> {
        let rows = self
            .sql
            .query(&format!("SELECT {name} FROM resident"), &[])?;
        rows.first()
            .filter(|row| !row.is_null(0))
            .map(|row| parse(row, 0))
            .transpose()
    }

    fn integer(&self, name: &'static str) -> Result<Option<i64>, Fault> {
        let rows = self
            .sql
            .query(&format!("SELECT {name} FROM resident"), &[])?;
        Ok(rows
            .first()
            .filter(|row| !row.is_null(0))
            .map(|row| row.integer(0))
            .transpose()?)
    }

    fn set(&self, name: &'static str, value: Value) -> Result<(), Fault> {
        Ok(self
            .sql
            .execute(&format!("UPDATE resident SET {name} = ?1"), &[value])?)
    }
}

fn parse<T: DeserializeOwned>(row: &Row, index: usize) -> Result<T, Fault> {
    Ok(read(row.text(index)?)?)
}

fn json<T: Serialize>(value: &T) -> Result<Value, Fault> {
    Ok(serde_json::to_string(value)?.into())
}
