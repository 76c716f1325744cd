//! Dependencies: install into the store, link into trees, adopt from an archive, sweep.

use std::{fs, path::PathBuf, sync::Arc, sync::PoisonError, time::Duration};

use ars_resident::daemon::{Answer, FailureKind, Job, Materialised, StepFailure, StepInput};
use ars_resident::layout::{DEPS, DEPS_INSTALLING, DEPS_KEY, MIRROR};
use ars_resident::names::{BackupId, LockfileKey, Sha, TableCommand};
use ars_resident::output::HEAD_BYTES_MAX;
use ars_resident::plan::User;

use super::{
    command::{self, ShellError},
    folders::remove_real,
    markers, snapshot,
};
use crate::{
    archive,
    failure::{Context as _, Result, invalid},
    git::GitCall,
    step::{self, StepContext},
    stop::Stop,
    store::{self, COMPLETE},
    users,
    walk::{change_owner, harden},
};

/// Lockfiles that lead to dependency folders in the tree.
const OF_NODE: [&str; 6] = [
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
];
/// Time without a use after which an entry may be removed.
const UNUSED_MIN: Duration = Duration::from_secs(24 * 60 * 60);

/// Installs dependencies and commits them to the store, unless it has them. Steps with the same key
/// wait for the first.
pub(super) async fn install(
    step: &StepContext<'_>,
    key: &LockfileKey,
    sha: &Sha,
    command: &TableCommand,
) -> Result<Answer> {
    step.require_root()?;
    let lock = install_lock(step, key);
    let _alone = step.stop.until(lock.lock()).await?;
    if store::has_entry(step.runtime, key) {
        store::touch(step.runtime, key)?;
        return Ok(Answer::Materialised {
            from: Materialised::Store,
        });
    }
    let _builder = step::lock(&step.shared.builder, &step.stop).await?;
    // A refresh resumes an installation that did not end. Only a cycle reads the marker.
    let is_cycle = matches!(step.request.job, Job::Cycle { .. });
    if is_cycle {
        markers::write(step.runtime, DEPS_INSTALLING, key.as_str())?;
    }
    let scratch = prepare_scratch(step, key, sha).await?;
    let ran = run_install(step, &store::scratch_path(key, sha), command).await;
    if let Err(failure) = &ran
        && failure.kind == FailureKind::Exit
    {
        // The content may be the cause, so the next installation starts anew.
        remove_real(step, &scratch).await?;
        markers::remove(step, if is_cycle { &[DEPS_INSTALLING] } else { &[] })?;
    }
    ran?;
    commit(step, key, sha, &scratch).await?;
    remove_real(step, &scratch).await?;
    if is_cycle {
        markers::remove(step, &[DEPS_INSTALLING])?;
    }
    Ok(Answer::Materialised {
        from: Materialised::Install,
    })
}

/// Makes the scratch checkout, or continues with an interrupted installation's. It has the code
/// host's branches, and not the threads' saved work.
async fn prepare_scratch(step: &StepContext<'_>, key: &LockfileKey, sha: &Sha) -> Result<PathBuf> {
    let runtime = step.runtime;
    let path = store::scratch_path(key, sha);
    let real = runtime.places.real(&path)?;
    let checkout = || async {
        let arguments = [
            "checkout",
            "--quiet",
            "--force",
            "--detach",
            sha.as_str(),
            "--",
        ];
        let call = GitCall::in_tree(User::BUILD, &real, arguments);
        call.run(runtime, &step.stop)
            .await?
            .succeeded(runtime)
            .map(drop)
    };
    if real.join(".git").is_dir() && checkout().await.is_ok() {
        return Ok(real);
    }
    step.stop.check()?;
    remove_real(step, &real).await?;
    let mirror = runtime.places.real(MIRROR)?;
    let mut call = GitCall::in_mirror(
        runtime,
        ["clone", "--quiet", "--no-local", "--no-checkout", "--"],
    )?;
    call.args.extend([mirror.into(), real.clone().into()]);
    call.run(runtime, &step.stop).await?.succeeded(runtime)?;
    if let Some(owner) = users::owner(&runtime.settings.mode, User::BUILD) {
        let folder = runtime.places.open_dir(&path)?;
        step.blocking(move |stop| change_owner(&folder, owner, stop))
            .await?;
    }
    checkout().await?;
    seed(step, key, &path).await?;
    Ok(real)
}

/// Begins with a copy of the linked dependencies, which an installer changes where lockfiles differ.
async fn seed(step: &StepContext<'_>, key: &LockfileKey, scratch: &str) -> Result<()> {
    let runtime = step.runtime;
    let warm = markers::read(runtime, DEPS_KEY, |text| LockfileKey::parse(text).ok());
    let Some(warm) = warm.filter(|warm| warm != key && store::has_entry(runtime, warm)) else {
        return Ok(());
    };
    let entry = runtime.places.open_dir(&store::entry_path(&warm))?;
    let target = runtime.places.open_dir(scratch)?;
    let replaced = Replaced::create(step)?;
    let folder = runtime.places.open_dir(&replaced.path)?;
    let owner = users::owner(&runtime.settings.mode, User::BUILD);
    let links = crate::settings::StoreLinks::Copy;
    step.blocking(move |stop| store::link_view(&entry, &target, &folder, links, owner, stop))
        .await?;
    replaced.remove(step).await
}

async fn run_install(step: &StepContext<'_>, scratch: &str, command: &TableCommand) -> Result<()> {
    let end = match command::build(step, command, scratch).await {
        Ok((ended, streams)) => {
            if let Some(why) = ended.stopped {
                return Err(why.into());
            }
            command::command_end(step, ended, &streams.both_ends(HEAD_BYTES_MAX))
        }
        Err(ShellError::NoSpace(refused)) => {
            return Err(StepFailure::new(FailureKind::NoSpace, refused.stderr));
        }
        Err(ShellError::Failed(failure)) => return Err(failure),
    };
    match end.exit_code {
        0 => Ok(()),
        code => Err(StepFailure {
            kind: FailureKind::Exit,
            exit_code: Some(code),
            free_kib: end.free_kib,
            stdout: end.stdout,
            stderr: end.stderr,
        }),
    }
}

/// Moves the dependency folders into an entry. It appears with all files, or not at all.
async fn commit(
    step: &StepContext<'_>,
    key: &LockfileKey,
    sha: &Sha,
    scratch: &std::path::Path,
) -> Result<()> {
    let runtime = step.runtime;
    let staging = runtime.places.real(&store::staging_path(key))?;
    let entry = runtime.places.real(&store::entry_path(key))?;
    let needs_folder = has_node_lockfile(step, sha).await?;
    remove_real(step, &entry).await?;
    let source = runtime.places.open_dir(&store::scratch_path(key, sha))?;
    let root = users::owner(&runtime.settings.mode, User::ROOT);
    let (staged, scratch, stamp) = (staging.clone(), scratch.to_owned(), key.to_string());
    let work = move |stop: &Stop| {
        let target = store::create(&staged)?;
        let count = store::collect(&source, &target, stop)?;
        if count == 0 && needs_folder {
            let text = format!(
                "the command created no node_modules in {}",
                scratch.display()
            );
            return Err(StepFailure::new(FailureKind::NotFound, text));
        }
        harden(&target, root, stop)?;
        fs::write(staged.join(COMPLETE), stamp).context("deps")?;
        fs::rename(&staged, &entry).context("deps")
    };
    let committed = step.blocking(work).await;
    if committed.is_err() {
        // A remaining file is removed at the next start.
        let _ = remove_real(step, &staging).await;
    }
    committed?;
    store::touch(runtime, key)
}

async fn has_node_lockfile(step: &StepContext<'_>, sha: &Sha) -> Result<bool> {
    let mut call =
        GitCall::in_mirror(step.runtime, ["ls-tree", "--name-only", sha.as_str(), "--"])?;
    call.args.extend(OF_NODE.map(Into::into));
    Ok(!call
        .run(step.runtime, &step.stop)
        .await?
        .succeeded(step.runtime)?
        .stdout
        .is_empty())
}

/// Links an entry into a tree.
pub(super) async fn link(
    step: &StepContext<'_>,
    key: &LockfileKey,
    tree: &str,
    owner: User,
) -> Result<Answer> {
    step.require_root()?;
    let runtime = step.runtime;
    if !store::has_entry(runtime, key) {
        return Err(StepFailure::new(
            FailureKind::NotFound,
            "the store has no such entry",
        ));
    }
    store::touch(runtime, key)?;
    let entry = runtime.places.open_dir(&store::entry_path(key))?;
    let target = runtime.places.open_dir(tree)?;
    let replaced = Replaced::create(step)?;
    let folder = runtime.places.open_dir(&replaced.path)?;
    let (links, owner) = (
        runtime.settings.links,
        users::owner(&runtime.settings.mode, owner),
    );
    let linked = step
        .blocking(move |stop| store::link_view(&entry, &target, &folder, links, owner, stop))
        .await;
    replaced.remove(step).await?;
    Ok(Answer::Linked { deps: linked? })
}

/// Uses an entry that is there, or restores it from the archive. It waits for the key's
/// installation.
pub(super) async fn adopt(
    step: &StepContext<'_>,
    key: &LockfileKey,
    backup: Option<&BackupId>,
) -> Result<Answer> {
    step.require_root()?;
    let lock = install_lock(step, key);
    let _alone = step.stop.until(lock.lock()).await?;
    let has_entry = store::has_entry(step.runtime, key);
    let from = match (&step.request.input, backup) {
        (StepInput::None, None) if has_entry => Materialised::Store,
        (StepInput::None, None) => {
            return Ok(Answer::Materialised {
                from: Materialised::Missing,
            });
        }
        (StepInput::Download { .. }, Some(backup)) if has_entry => {
            // A remaining file is removed at the next start.
            let _ = fs::remove_file(archive::transfer_path(step.runtime, backup)?);
            Materialised::Store
        }
        (StepInput::Download { .. }, Some(backup)) => {
            snapshot::extract_entry(step, backup, key).await?;
            Materialised::Archive
        }
        _ => {
            return Err(invalid(
                "dependencies are adopted from the download of an archive",
            ));
        }
    };
    store::touch(step.runtime, key)?;
    Ok(Answer::Materialised { from })
}

/// Removes entries that were not used for a day, except `keep`. Abandoned installations' scratch
/// checkouts go too.
pub(super) async fn sweep(step: &StepContext<'_>, keep: &[LockfileKey]) -> Result<Answer> {
    step.require_root()?;
    for entry in fs::read_dir(step.runtime.places.real(DEPS)?).context("deps")? {
        let entry = entry.context("deps")?;
        let name = entry.file_name();
        let Some((key, is_scratch)) = name.to_str().and_then(store::key_of) else {
            continue;
        };
        let lock = install_lock(step, &key);
        // The key's installation runs.
        let Ok(_alone) = lock.try_lock() else {
            continue;
        };
        let used_at = match is_scratch {
            true => entry.metadata().and_then(|meta| meta.modified()).ok(),
            false => store::used_at(step.runtime, &key),
        };
        let is_recent = used_at.is_some_and(|at| at.elapsed().is_ok_and(|idle| idle < UNUSED_MIN));
        if !is_recent && (is_scratch || !keep.contains(&key)) {
            // An entry that is removed in part is not complete any more.
            let removed = step.runtime.places.real(&store::staging_path(&key))?;
            fs::rename(entry.path(), &removed).context("deps")?;
            remove_real(step, &removed).await?;
        }
    }
    Ok(Answer::Done)
}

/// Returns the lock for a key's installations.
fn install_lock(step: &StepContext<'_>, key: &LockfileKey) -> Arc<tokio::sync::Mutex<()>> {
    let mut installs = step
        .shared
        .installs
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    Arc::clone(installs.entry(key.clone()).or_default())
}

/// A folder for replaced dependencies.
struct Replaced {
    path: String,
}

impl Replaced {
    fn create(step: &StepContext<'_>) -> Result<Self> {
        let path = format!("{DEPS}/{}replaced-{}", store::STAGING, uuid::Uuid::new_v4());
        fs::create_dir(step.runtime.places.real(&path)?).context("deps")?;
        Ok(Self { path })
    }

    async fn remove(self, step: &StepContext<'_>) -> Result<()> {
        remove_real(step, &step.runtime.places.real(&self.path)?).await
    }
}
