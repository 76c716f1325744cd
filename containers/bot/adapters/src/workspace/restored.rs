//! Recreates trees from checkpoints: a tree that is gone, or a tree that a caller wants back.

use std::{io, path::Path, sync::Arc};

use ars_bot_ports::{
    Checkpoint, NO_CHECKPOINT, OpenFor, Repository, WorkspaceError, WorkspaceRequest,
};
use ars_types::{RunId, ThreadKey};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{
    checkpoint::{Mirror, Saved, Saving},
    clean::is_clean,
    disk::{blocking, blocking_io, infra},
    evict::{self, EVICTED},
    files::Files,
    git::Git,
    in_use::Unused,
    making,
    meta::{Meta, open_tree},
    programs::Programs,
    provider::{GitWorkspaces, canonical, folder_name_of, set_aside},
};

/// The error for a tree that a restore would replace.
const HAS_WORK: &str = "the working tree of this thread has unsaved work, and a restore would replace it: push the \
                        commits or remove the changes, then restore again";
/// The error for a tree that a run or a viewer uses.
const IN_USE: &str = "the working tree of this thread is in use: try again when its run has ended";

impl GitWorkspaces {
    /// Returns the checkpoint from which a missing tree is recreated for a request, if any.
    pub(super) async fn remedy(
        &self,
        name: &str,
        meta: &Meta,
        request: WorkspaceRequest<'_>,
    ) -> Result<Option<Saved>, WorkspaceError> {
        let is_authorized = match request.purpose {
            // It was, when it started.
            OpenFor::Resume => true,
            OpenFor::Run => meta.origin.is_none() || request.repository.or(request.own).is_some(),
            OpenFor::View => false,
        };
        let Some(saved) = meta.checkpoint.clone().filter(|_| is_authorized) else {
            return Ok(None);
        };
        let mirror = Mirror::for_origin(self.data_dir(), meta.origin.as_deref(), name);
        blocking_io(move || {
            Ok(mirror
                .has(&saved.run, saved.number, &saved.commit)?
                .then_some(saved))
        })
        .await
    }

    /// Makes a checkpoint's tree in place of a tree that is gone. `repository` has the configured
    /// origin.
    pub(super) async fn remake(
        &self,
        (root, name): (&Path, &str),
        (programs, cancel): (&Programs, &CancellationToken),
        (meta, saved): (Meta, Saved),
        repository: Option<&Repository>,
    ) -> Result<(), WorkspaceError> {
        let making = self
            .refill(
                (root, name),
                (programs, cancel),
                (&meta, &saved),
                repository,
            )
            .await?;
        let (root, data, name) = (
            root.to_path_buf(),
            self.data_dir().to_path_buf(),
            name.to_owned(),
        );
        blocking(move || {
            set_aside(&root, &name).map_err(|error| infra(&error))?;
            put(
                making,
                (&root, &data, &name),
                &Meta {
                    checkpoint: Some(saved),
                    evicted: false,
                    ..meta
                },
            )
        })
        .await
    }

    /// Gives a thread the tree from a run's last checkpoint, if its own has no work.
    pub(super) async fn restore_run(
        &self,
        thread: &ThreadKey,
        run: &RunId,
        cancel: &CancellationToken,
    ) -> Result<Checkpoint, WorkspaceError> {
        let programs = self
            .programs()
            .map_err(|obstacle| WorkspaceError::Refused(obstacle.to_owned()))?;
        let name = folder_name_of(thread.as_str());
        let lock = self.lock_of(&name);
        let _alone = lock.lock().await;
        let (root, data, owned) = (
            self.root().to_path_buf(),
            self.data_dir().to_path_buf(),
            name.clone(),
        );
        let (root, meta) =
            blocking(move || Ok((canonical(&root)?, Meta::read(&data, &owned)?))).await?;
        let unknown = || WorkspaceError::NotFound(NO_CHECKPOINT.into());
        let meta = meta.ok_or_else(unknown)?;
        let mirror = Mirror::for_origin(self.data_dir(), meta.origin.as_deref(), &name);
        let wanted = run.clone();
        let saved = blocking_io(move || Saved::stored(&mirror, &wanted))
            .await?
            .ok_or_else(unknown)?;
        let place = root.join(&name);
        let (locked_root, locked) = (root.clone(), name.clone());
        let unused = blocking_io(move || Unused::lock(&locked_root, &locked)).await?;
        let is_there = place.join("tree").is_dir();
        if is_there {
            if unused.is_none() {
                return Err(WorkspaceError::Refused(IN_USE.into()));
            }
            let git = Git {
                programs,
                place: &place,
                cancel,
                group: None,
            };
            if !is_clean(&git, meta.base.as_deref()).await.unwrap_or(false) {
                return Err(WorkspaceError::Refused(HAS_WORK.into()));
            }
        }
        let making = self
            .refill((&root, &name), (programs, cancel), (&meta, &saved), None)
            .await?;
        let (data, checkpoint) = (self.data_dir().to_path_buf(), saved.checkpoint(false));
        let former = blocking(move || {
            let former = if is_there {
                Some(move_away(&root, &name).map_err(|error| infra(&error))?)
            } else {
                None
            };
            set_aside(&root, &name).map_err(|error| infra(&error))?;
            put(
                making,
                (&root, &data, &name),
                &Meta {
                    checkpoint: Some(saved),
                    evicted: false,
                    ..meta
                },
            )?;
            drop(unused);
            Ok(former)
        })
        .await?;
        if let Some(former) = former {
            evict::remove(programs, &former).await;
        }
        Ok(checkpoint)
    }

    /// Saves a thread's tree that has a checkpoint again. Returns the metadata with the new
    /// checkpoint.
    pub(super) async fn save_last(
        &self,
        programs: &Programs,
        name: &str,
        meta: Meta,
    ) -> Result<Meta, WorkspaceError> {
        let Some(last) = &meta.checkpoint else {
            return Ok(meta);
        };
        let (root, owned) = (self.root().to_path_buf(), name.to_owned());
        let opened = blocking_io(move || {
            let root = root.canonicalize()?;
            Ok(open_tree(&root, &owned)?.map(|tree| (root.join(&owned), tree)))
        });
        let Some((place, (tree, _in_use))) = opened.await? else {
            return Ok(meta);
        };
        let saving = Saving {
            git: Git {
                programs,
                place: &place,
                cancel: &CancellationToken::new(),
                group: None,
            },
            files: &Arc::new(Files::new(place.join("tree"), tree)),
            mirror: &Mirror::for_origin(self.data_dir(), meta.origin.as_deref(), name),
            run: &last.run,
            base: meta.base.as_deref(),
            last: Some(last),
        };
        let checkpoint = saving.save(None).await?.saved.map(|(saved, _)| saved);
        Ok(Meta { checkpoint, ..meta })
    }

    /// Makes a checkpoint's tree next to where it will be.
    async fn refill(
        &self,
        (root, name): (&Path, &str),
        (programs, cancel): (&Programs, &CancellationToken),
        (meta, saved): (&Meta, &Saved),
        repository: Option<&Repository>,
    ) -> Result<TempDir, WorkspaceError> {
        let making = making::folder_in(root.to_path_buf()).await?;
        let own = meta.repository.clone().zip(meta.origin.clone());
        let own = own.map(|(name, origin)| Repository { name, origin });
        let mirror = Mirror::for_origin(self.data_dir(), meta.origin.as_deref(), name);
        let git = Git {
            programs,
            place: making.path(),
            cancel,
            group: None,
        };
        let host: Option<&Arc<_>> = self.code_host();
        let filled = making::refill(
            &git,
            host,
            repository.or(own.as_ref()),
            (&mirror, &saved.commit),
        )
        .await;
        match filled {
            Ok(()) => Ok(making),
            Err(error) => {
                blocking_io(move || making.close()).await?;
                Err(error)
            }
        }
    }
}

/// Moves a workspace away, as an eviction does.
fn move_away(root: &Path, name: &str) -> io::Result<std::path::PathBuf> {
    let moved = tempfile::Builder::new()
        .prefix(EVICTED)
        .tempdir_in(root)?
        .keep();
    std::fs::rename(root.join(name), &moved)?;
    Ok(moved)
}

/// Renames a new workspace to the final place, and stores the metadata.
fn put(
    making: TempDir,
    (root, data, name): (&Path, &Path, &str),
    meta: &Meta,
) -> Result<(), WorkspaceError> {
    std::fs::rename(making.path(), root.join(name)).map_err(|error| infra(&error))?;
    drop(making);
    meta.write(data, name)
}
