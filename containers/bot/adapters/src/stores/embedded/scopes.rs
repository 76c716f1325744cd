//! Memory, one file for each scope: a full-text rank compares a record with all others of its database, so scopes must
//! not share one.
//!
//! A file is named by a digest of its scope's key, which may hold what no file name can. Scopes are opened when they
//! are asked for, and the one that was not asked for longest gives way.

use std::path::{Path, PathBuf};

use ars_memory::MemoryStore;
use ars_sql::SqlError;
use ars_sql_native::NativeSql;
use ars_store::{Store as _, StoreFailure};
use ars_types::StoreKey;
use sha2::{Digest as _, Sha256};

use super::{super::failure::chain, make_private};

/// The folder within the data directory.
const FOLDER: &str = "memory";
/// Scopes open at once: those of a few conversations, of four scopes each.
const MAX_OPEN: usize = 32;

type Scope = MemoryStore<NativeSql>;

/// The scopes of a data directory.
pub(super) struct Scopes {
    folder: PathBuf,
    /// The one asked for last is the last.
    open: Vec<(StoreKey, Scope)>,
}

impl Scopes {
    pub(super) fn within(data_dir: &Path) -> Self {
        Self { folder: data_dir.join(FOLDER), open: Vec::new() }
    }

    /// The store of a scope.
    pub(super) fn of(&mut self, key: &StoreKey) -> Result<&Scope, StoreFailure> {
        let scope = match self.open.iter().position(|(open, _)| open == key) {
            Some(place) => self.open.remove(place),
            None => {
                let scope = self.open_file(key)?;
                if self.open.len() == MAX_OPEN {
                    self.open.remove(0);
                }
                (key.clone(), scope)
            }
        };
        // Pushed and looked at in one: there is no way for it not to be there.
        Ok(&self.open.push_mut(scope).1)
    }

    fn open_file(&self, key: &StoreKey) -> Result<Scope, SqlError> {
        let fault = |error: &dyn std::error::Error| SqlError::Engine(chain(error));
        make_private(&self.folder).map_err(|error| fault(&error))?;
        let digest: String = Sha256::digest(key.as_str()).iter().map(|byte| format!("{byte:02x}")).collect();
        let sql = NativeSql::open(&self.folder.join(format!("{digest}.sqlite3")))?;
        Scope::open(sql).map_err(|error| fault(&error))
    }
}
