//! Archives of the dependency store: made after a cycle, and restored in place of an installation.
//!
//! A missing or damaged archive costs an installation, and no cycle or request fails by it. Not here: the entries, which
//! the daemon keeps.

use std::rc::Rc;

use ars_resident::daemon::{Answer, Materialised, StepInput, Transfer};
use ars_resident::names::{LockfileKey, Sha, TableCommand};
use ars_resident::plan::{adopt_deps, archive_deps, install};
use ars_sql::Sql;
use futures::FutureExt as _;

use super::engine::Engine;
use super::steps::{StepError, Steps};
use crate::{Fault, Host};

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Archives the dependencies of the checkout, unless they have an archive.
    /// One that fails is made after the next cycle.
    pub(super) async fn archive_deps(self: &Rc<Self>) -> Result<(), Fault> {
        // An upload in progress has not stored its digest yet.
        let Some(_alone) = self.archiving.lock().now_or_never() else { return Ok(()) };
        let has_install = self.store.record()?.is_some_and(|record| record.command("install").is_some());
        if !has_install || self.host.runtime().await.is_none() {
            return Ok(());
        }
        let of_checkout = self.store.lifecycle()?.facts().map(|facts| facts.stamp.lockfile_hash.clone());
        let Some(key) = of_checkout else { return Ok(()) };
        if self.store.deps_archive(&key)?.is_some() {
            return Ok(());
        }
        let backup = self.host.new_backup();
        self.store.begin_deps_archive(&key, &backup)?;
        // The platform keeps the object and its container until the upload ends.
        let _count = self.count(None);
        self.keep_alive().await;
        let input = StepInput::Upload { backup: backup.clone(), to: Transfer::Engine };
        let Ok(Answer::Archived { sha256, .. }) = Steps::new(self).run(archive_deps(&key), input).await
        else {
            return Ok(());
        };
        let is_named = self.store.finish_deps_archive(&key, &backup, &sha256)?;
        // A sweep or an offboarding may have deleted it before its upload ended.
        if !is_named && self.host.delete_backups(std::slice::from_ref(&backup)).await.is_ok() {
            self.store.forget_backups(&[backup])?;
        }
        Ok(())
    }

    /// Forgets the archive of an entry that was installed: it could not be used.
    pub(super) fn note_installed(&self, key: &LockfileKey, answer: Option<&Answer>) -> Result<(), Fault> {
        match answer {
            Some(Answer::Materialised { from: Materialised::Install }) => self.store.forget_deps_archive(key),
            _ => Ok(()),
        }
    }
}

impl<S: Sql + 'static, H: Host> Steps<'_, S, H> {
    /// Makes the store have an entry: it is there, or comes from its archive or an installation.
    pub(super) async fn materialise(
        &mut self,
        key: &LockfileKey,
        sha: &Sha,
        command: &TableCommand,
    ) -> Result<(), StepError> {
        self.adopt(key).await?;
        let answer = self.run(install(key, sha, command), StepInput::None).await?;
        self.engine.note_installed(key, Some(&answer)).map_err(|fault| storage(&fault))
    }

    /// Restores an entry that the store lacks from its archive, if there is one.
    async fn adopt(&mut self, key: &LockfileKey) -> Result<(), StepError> {
        if self.engine.store.deps_archive(key).map_err(|fault| storage(&fault))?.is_none() {
            return Ok(());
        }
        let Some(Answer::Materialised { from: Materialised::Missing }) =
            optional(self.run(adopt_deps(key, None), StepInput::None).await)?
        else {
            return Ok(());
        };
        let Some(backup) = self.engine.store.deps_archive(key).map_err(|fault| storage(&fault))? else {
            return Ok(());
        };
        let sha256 = self.engine.store.backup_digest(&backup).map_err(|fault| storage(&fault))?;
        let input = StepInput::Download { from: Transfer::Engine, sha256 };
        optional(self.run(adopt_deps(key, Some(backup)), input).await).map(drop)
    }
}

/// Ignores a failure after which an installation follows.
fn optional(result: Result<Answer, StepError>) -> Result<Option<Answer>, StepError> {
    match result {
        Ok(answer) => Ok(Some(answer)),
        Err(StepError::Replaced) => Err(StepError::Replaced),
        Err(StepError::Host(_) | StepError::Step { .. }) => Ok(None),
    }
}

fn storage(fault: &Fault) -> StepError {
    StepError::Host(fault.to_string())
}
