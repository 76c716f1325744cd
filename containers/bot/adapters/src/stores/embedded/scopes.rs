//! Memory, with a file for each scope. A full-text rank compares a record with all others in the
//! database, so scopes must not share a file.
//!
//! A file is named by a digest of its scope's key, because a key may hold characters that a file
//! name cannot. Scopes are opened on first use; the least recently used scope is closed. A scope
//! gets a file at its first write, because each run reads the scopes for the user, channel and
//! thread.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use ars_memory::MemoryStore;
use ars_sql::SqlError;
use ars_sql_native::NativeSql;
use ars_store::{Store as _, StoreFailure};
use ars_types::{StoreKey, UnixMillis};
use ars_wire::state::MemoryVerb;
use lru::LruCache;
use sha2::{Digest as _, Sha256};

use super::{super::failure::chain, folder::make_private};

/// The folder within the data directory.
const FOLDER: &str = "memory";
/// Maximum open scopes: eight conversations with four scopes each.
const MAX_OPEN: NonZeroUsize = NonZeroUsize::new(32).expect("is not zero");

/// Maximum files that a sweep part opens.
const MAX_SWEPT_FILES: usize = 32;
/// File extension for a scope's file.
const EXTENSION: &str = "sqlite3";

type Scope = MemoryStore<NativeSql>;

/// Scopes in a data directory.
pub(super) struct Scopes {
    folder: PathBuf,
    open: LruCache<StoreKey, Scope>,
    /// Answers for the scopes without a file.
    unwritten: Option<Scope>,
    /// The files that the current sweep has not reached.
    unswept: Vec<PathBuf>,
}

impl Scopes {
    pub(super) fn within(data_dir: &Path) -> Self {
        Self {
            folder: data_dir.join(FOLDER),
            open: LruCache::new(MAX_OPEN),
            unwritten: None,
            unswept: Vec::new(),
        }
    }

    /// Returns a scope's store, opening the file when it is not open. Operations other than a write
    /// change nothing in a scope without a file, and get an empty store for it.
    pub(super) fn scope(
        &mut self,
        key: &StoreKey,
        verb: MemoryVerb,
    ) -> Result<&Scope, StoreFailure> {
        let Self {
            folder,
            open,
            unwritten,
            ..
        } = self;
        if verb != MemoryVerb::Write && !open.contains(key) && !path_of(folder, key).exists() {
            return match unwritten {
                Some(unwritten) => Ok(unwritten),
                none => Ok(none.insert(migrated(NativeSql::in_memory()?)?)),
            };
        }
        Ok(open.try_get_or_insert_ref(key, || open_file(folder, key))?)
    }

    /// Sweeps some files; returns `true` when more are left.
    pub(super) fn sweep(&mut self, now: UnixMillis) -> bool {
        if self.unswept.is_empty() {
            let entries = std::fs::read_dir(&self.folder)
                .into_iter()
                .flatten()
                .flatten();
            let paths = entries.map(|entry| entry.path());
            self.unswept = paths
                .filter(|path| path.extension().is_some_and(|end| end == EXTENSION))
                .collect();
        }
        let rest = self.unswept.len().saturating_sub(MAX_SWEPT_FILES);
        for path in self.unswept.split_off(rest) {
            let swept = open_scope(&path).and_then(|scope| scope.sweep(now));
            match swept {
                Ok(0) => {}
                Ok(purged) => tracing::debug!(purged, "forgotten memory purged"),
                Err(error) => tracing::error!(error = %error, "forgotten memory not purged"),
            }
        }
        !self.unswept.is_empty()
    }
}

fn open_file(folder: &Path, key: &StoreKey) -> Result<Scope, SqlError> {
    let fault = |error: &dyn std::error::Error| SqlError::Engine(chain(error));
    make_private(folder).map_err(|error| fault(&error))?;
    open_scope(&path_of(folder, key))
}

fn path_of(folder: &Path, key: &StoreKey) -> PathBuf {
    let digest = hex::encode(Sha256::digest(key.as_str()));
    folder.join(digest).with_extension(EXTENSION)
}

fn open_scope(path: &Path) -> Result<Scope, SqlError> {
    migrated(NativeSql::open(path)?)
}

fn migrated(sql: NativeSql) -> Result<Scope, SqlError> {
    Scope::open(sql).map_err(|error| SqlError::Engine(chain(&error)))
}
