//! Dependency store archives: made after a cycle, and restored in place of an installation.
//!
//! A missing or damaged archive costs an installation, and no cycle or request fails because of it.
//! Not here: the entries, which the daemon keeps.

use std::rc::Rc;

use ars_resident::daemon::{Answer, Materialised, StepInput, Transfer};
use ars_resident::names::{LockfileKey, Sha, TableCommand};
use ars_resident::plan::{adopt_deps, archive_deps, install};
use ars_resident::registry::Record;
use ars_sql::Sql;
use ars_types::StrictRefName;
use futures::FutureExt as _;

use super::engine::Engine;
use super::steps::{StepError, Steps};
use crate::{Fault, Host};

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Archives the checkout's dependencies, unless they have an archive. A failed archive is made
    /// after the next cycle.
    pub(super) async fn archive_deps(self: &Rc<Self>) -> Result<(), Fault> {
        // An upload in progress has not stored the digest yet.
        let Some(_alone) = self.archiving.lock().now_or_never() else {
            return Ok(());
        };
        let has_install = self
            .store
            .record()?
            .is_some_and(|record| record.command("install").is_some());
        if !has_install || self.host.runtime().await.is_none() {
            return Ok(());
        }
        let of_checkout = self
            .store
            .lifecycle()?
            .facts()
            .map(|facts| facts.stamp.lockfile_hash.clone());
        let Some(key) = of_checkout else {
            return Ok(());
        };
        if self.store.deps_archive(&key)?.is_some() {
            return Ok(());
        }
        let backup = self.host.new_backup();
        self.store.begin_deps_archive(&key, &backup)?;
        // The platform keeps the object and the container until the upload ends.
        let _count = self.count(None);
        self.keep_alive().await;
        let input = StepInput::Upload {
            backup: backup.clone(),
            to: Transfer::Engine,
        };
        let Ok(Answer::Archived { sha256, .. }) =
            Steps::new(self).run(archive_deps(&key), input).await
        else {
            return Ok(());
        };
        let is_named = self.store.finish_deps_archive(&key, &backup, &sha256)?;
        // A sweep or an offboarding may have deleted it before the upload ended.
        if !is_named
            && self
                .host
                .delete_backups(std::slice::from_ref(&backup))
                .await
                .is_ok()
        {
            self.store.forget_backups(&[backup])?;
        }
        Ok(())
    }

    /// Forgets an installed entry's archive: it could not be used.
    pub(super) fn note_installed(
        &self,
        key: &LockfileKey,
        answer: Option<&Answer>,
    ) -> Result<(), Fault> {
        match answer {
            Some(Answer::Materialised {
                from: Materialised::Install,
            }) => self.store.forget_deps_archive(key),
            _ => Ok(()),
        }
    }
}

/// The branch whose commit installs dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Installer {
    /// The default branch installs.
    Default,
    /// Another branch, which anyone with a request may name.
    Other,
}

impl Installer {
    /// Returns the installer for a commit, which is the tip of `git_ref`.
    pub(super) fn for_ref(record: &Record, git_ref: &StrictRefName) -> Self {
        if *git_ref == record.default_ref {
            Self::Default
        } else {
            Self::Other
        }
    }
}

impl<S: Sql + 'static, H: Host> Steps<'_, S, H> {
    /// Makes the store have an entry. Returns the key: it is there, or comes from an archive or an
    /// installation.
    ///
    /// A commit's programs decide what an installation leaves, whatever the lockfiles say. So only
    /// the default branch installs for others; another commit installs a separate entry, which is
    /// never archived.
    pub(super) async fn materialise(
        &mut self,
        key: &LockfileKey,
        sha: &Sha,
        command: &TableCommand,
        installer: Installer,
    ) -> Result<LockfileKey, StepError> {
        let is_there = self.adopt(key, installer).await?;
        let own = match installer {
            Installer::Other if is_there => return Ok(key.clone()),
            Installer::Other => key.at_commit(sha),
            Installer::Default => key.clone(),
        };
        let answer = self
            .run(install(&own, sha, command), StepInput::None)
            .await?;
        self.engine
            .note_installed(&own, Some(&answer))
            .map_err(|fault| storage(&fault))?;
        Ok(own)
    }

    /// Makes the store have the default branch's entry, if it is there or in an archive. Returns
    /// whether the store has it. The default branch installs in any case, so it is not asked
    /// without an archive.
    async fn adopt(&mut self, key: &LockfileKey, installer: Installer) -> Result<bool, StepError> {
        let archive = |engine: &Engine<S, H>| {
            engine
                .store
                .deps_archive(key)
                .map_err(|fault| storage(&fault))
        };
        if installer == Installer::Default && archive(self.engine)?.is_none() {
            return Ok(false);
        }
        match optional(self.run(adopt_deps(key, None), StepInput::None).await)? {
            Some(Answer::Materialised {
                from: Materialised::Missing,
            }) => {}
            Some(Answer::Materialised { .. }) => return Ok(true),
            _ => return Ok(false),
        }
        let Some(backup) = archive(self.engine)? else {
            return Ok(false);
        };
        let sha256 = self
            .engine
            .store
            .backup_digest(&backup)
            .map_err(|fault| storage(&fault))?;
        let input = StepInput::Download {
            from: Transfer::Engine,
            sha256,
        };
        Ok(optional(self.run(adopt_deps(key, Some(backup)), input).await)?.is_some())
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

/// Turns a failed storage into a step failure.
pub(super) fn storage(fault: &Fault) -> StepError {
    StepError::Host(fault.to_string())
}
