//! Folder archives: made and sent, received and extracted.

use std::path::Path;

use ars_resident::daemon::{Answer, FailureKind, StepFailure, StepInput, Transfer};
use ars_resident::layout::{CHECKOUT, DEPS, MIRROR};
use ars_resident::names::{BackupId, LockfileKey};
use ars_resident::plan::{MIRROR_MODE, User};
use rustix::fs::{Mode as Bits, chmod, chown};

use super::folders::remove_real;
use crate::{
    archive::{self, Received},
    failure::{Context as _, Result, invalid},
    step::StepContext,
    store, users,
    walk::harden,
};

/// Archives a folder, and sends the archive or keeps it for the engine.
pub(super) async fn archive(
    step: &StepContext<'_>,
    path: &str,
    without: Option<&str>,
) -> Result<Answer> {
    step.require_root()?;
    let StepInput::Upload { backup, to } = &step.request.input else {
        return Err(invalid("an archive has an upload"));
    };
    check_folder(step, path)?;
    let folder = step.runtime.places.open_dir(path)?;
    let file = archive::transfer_path(step.runtime, backup)?;
    let (target, without, progress) = (
        file.clone(),
        without.map(str::to_owned),
        step.progress.clone(),
    );
    let made = step
        .blocking(move |stop| archive::pack(&folder, without.as_deref(), &target, &progress, stop))
        .await;
    let sent = match (made, to) {
        (Ok(packed), Transfer::Url { url, headers }) => {
            archive::upload(step, &file, packed.bytes, url, headers)
                .await
                .map(|()| packed)
        }
        (made, _) => made,
    };
    if sent.is_err() || matches!(to, Transfer::Url { .. }) {
        // A remaining file is removed at the next start.
        let _ = std::fs::remove_file(&file);
    }
    let packed = sent?;
    Ok(Answer::Archived {
        backup: backup.clone(),
        bytes: packed.bytes,
        sha256: packed.sha256,
    })
}

/// Where an archive's content goes.
struct ArchiveTarget<'a> {
    path: &'a str,
    /// Where it is extracted before the rename.
    beside: &'a str,
    /// A store entry's key. Other folders have none.
    entry: Option<&'a LockfileKey>,
}

/// Receives an archive and extracts it to the mirror or the checkout.
pub(super) async fn extract(
    step: &StepContext<'_>,
    backup: &BackupId,
    path: &str,
) -> Result<Answer> {
    step.require_root()?;
    if path != MIRROR && path != CHECKOUT {
        return Err(invalid(format!("{path} is not extracted")));
    }
    let target = ArchiveTarget {
        path,
        beside: &format!("{path}.extract"),
        entry: None,
    };
    let received = extract_into(step, backup, &target).await?;
    Ok(Answer::Extracted {
        bytes: received.bytes,
        sha256: received.sha256,
    })
}

/// Receives an entry's archive and extracts it to the store. An archive with another key or an
/// incomplete archive changes nothing.
pub(super) async fn extract_entry(
    step: &StepContext<'_>,
    backup: &BackupId,
    key: &LockfileKey,
) -> Result<Received> {
    let (path, beside) = (store::entry_path(key), store::staging_path(key));
    extract_into(
        step,
        backup,
        &ArchiveTarget {
            path: &path,
            beside: &beside,
            entry: Some(key),
        },
    )
    .await
}

/// Receives an archive, extracts it beside a folder, and renames it last.
async fn extract_into(
    step: &StepContext<'_>,
    backup: &BackupId,
    target: &ArchiveTarget<'_>,
) -> Result<Received> {
    let StepInput::Download { from, sha256 } = &step.request.input else {
        return Err(invalid("an extraction has a download"));
    };
    let file = archive::transfer_path(step.runtime, backup)?;
    let received = match from {
        Transfer::Url { url, headers } => archive::download(step, &file, url, headers).await,
        Transfer::Engine => archive::measure(step, &file).await,
    };
    let done = match received {
        Ok(received)
            if sha256
                .as_ref()
                .is_some_and(|expected| *expected != received.sha256) =>
        {
            Err(StepFailure::new(
                FailureKind::Corrupt,
                "the archive has another SHA-256",
            ))
        }
        Ok(received) => replace(step, &file, target).await.map(|()| received),
        Err(failure) => Err(failure),
    };
    // A remaining file is removed at the next start.
    let _ = std::fs::remove_file(&file);
    done
}

async fn replace(step: &StepContext<'_>, file: &Path, target: &ArchiveTarget<'_>) -> Result<()> {
    let real = step.runtime.places.real(target.path)?;
    let beside = step.runtime.places.real(target.beside)?;
    remove_real(step, &beside).await?;
    std::fs::create_dir(&beside).context("extract")?;
    let (archive, folder, progress) = (file.to_owned(), beside.clone(), step.progress.clone());
    let is_root = matches!(step.runtime.settings.mode, crate::settings::Mode::Users);
    let extracted = step
        .blocking(move |stop| archive::unpack(&archive, &folder, is_root, &progress, stop))
        .await;
    let verified = match (extracted, target.entry) {
        (Err(failure), _) => Err(failure),
        (Ok(()), Some(key)) if store::is_entry_of(&beside, key) => {
            own_entry(step, target.beside).await
        }
        (Ok(()), Some(_)) => Err(StepFailure::new(
            FailureKind::Corrupt,
            "the archive is of no complete entry of this key",
        )),
        (Ok(()), None) => own_root(step, target.path, &beside),
    };
    if let Err(failure) = verified {
        // The extraction's failure is the failure to report.
        let _ = remove_real(step, &beside).await;
        return Err(failure);
    }
    remove_real(step, &real).await?;
    std::fs::rename(&beside, &real).context("extract")
}

/// Gives root an extracted entry: archives from earlier versions have another owner.
async fn own_entry(step: &StepContext<'_>, path: &str) -> Result<()> {
    let folder = step.runtime.places.open_dir(path)?;
    let root = users::owner(&step.runtime.settings.mode, User::ROOT);
    step.blocking(move |stop| harden(&folder, root, stop)).await
}

/// Sets the extracted folder's own owner and permissions, which no archive entry has.
fn own_root(step: &StepContext<'_>, path: &str, folder: &Path) -> Result<()> {
    let Some(build) = users::owner(&step.runtime.settings.mode, User::BUILD) else {
        return Ok(());
    };
    if path == MIRROR {
        chown(folder, None, Some(build.gid())).context("extract")?;
        return chmod(folder, Bits::from_raw_mode(MIRROR_MODE)).context("extract");
    }
    chown(folder, Some(build.uid()), Some(build.gid())).context("extract")
}

/// Only the mirror, the checkout and complete store entries are archived. Thread trees never are.
fn check_folder(step: &StepContext<'_>, path: &str) -> Result<()> {
    let entry = path
        .strip_prefix(DEPS)
        .and_then(|rest| LockfileKey::parse(rest.strip_prefix('/')?).ok());
    match entry {
        Some(key) if store::is_entry_of(&step.runtime.places.real(path)?, &key) => Ok(()),
        Some(_) => Err(StepFailure::new(
            FailureKind::NotFound,
            "the store has no such entry",
        )),
        None if path == MIRROR || path == CHECKOUT => Ok(()),
        None => Err(invalid(format!("{path} has no archive"))),
    }
}
