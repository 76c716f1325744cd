//! Archives of folders: made and sent, received and extracted.

use std::path::Path;

use ars_resident::daemon::{Answer, FailureKind, StepFailure, StepInput, Transfer};
use ars_resident::layout::{CHECKOUT, DEPS, MIRROR};
use ars_resident::names::BackupId;
use ars_resident::plan::{MIRROR_MODE, User};
use rustix::fs::{Mode as Bits, chmod, chown};

use super::folders::remove_real;
use crate::{
    archive::{self, Received},
    failure::{Context as _, Result, invalid},
    step::StepContext,
    users,
};

/// Archives a folder, and sends the archive or keeps it for the engine.
pub(super) async fn archive(step: &StepContext<'_>, path: &str, without: Option<&str>) -> Result<Answer> {
    step.require_root()?;
    let StepInput::Upload { backup, to } = &step.request.input else {
        return Err(invalid("an archive has an upload"));
    };
    check_folder(path)?;
    let folder = step.runtime.places.open_dir(path)?;
    let file = archive::transfer_path(step.runtime, backup)?;
    let (target, without, progress) = (file.clone(), without.map(str::to_owned), step.progress.clone());
    let made =
        step.blocking(move |stop| archive::pack(&folder, without.as_deref(), &target, &progress, stop)).await;
    let sent = match (made, to) {
        (Ok(packed), Transfer::Url { url, headers }) => {
            archive::upload(step, &file, packed.bytes, url, headers).await.map(|()| packed)
        }
        (made, _) => made,
    };
    if sent.is_err() || matches!(to, Transfer::Url { .. }) {
        // A remaining file is removed at the next start.
        let _ = std::fs::remove_file(&file);
    }
    let packed = sent?;
    Ok(Answer::Archived { backup: backup.clone(), bytes: packed.bytes, sha256: packed.sha256 })
}

/// Receives an archive and extracts it to a folder.
pub(super) async fn extract(step: &StepContext<'_>, backup: &BackupId, path: &str) -> Result<Answer> {
    step.require_root()?;
    let received = extract_into(step, Some(backup), path).await?;
    Ok(Answer::Extracted { bytes: received.bytes, sha256: received.sha256 })
}

/// Receives an archive, extracts it beside a folder, and renames it last.
pub(super) async fn extract_into(
    step: &StepContext<'_>,
    backup: Option<&BackupId>,
    path: &str,
) -> Result<Received> {
    let StepInput::Download { from, sha256 } = &step.request.input else {
        return Err(invalid("an extraction has a download"));
    };
    check_folder(path)?;
    let own =
        BackupId::parse(uuid::Uuid::new_v4().to_string()).map_err(|error| invalid(error.to_string()))?;
    let file = archive::transfer_path(step.runtime, backup.unwrap_or(&own))?;
    let received = match from {
        Transfer::Url { url, headers } => archive::download(step, &file, url, headers).await,
        Transfer::Engine => archive::measure(step, &file).await,
    };
    let done = match received {
        Ok(received) if sha256.as_ref().is_some_and(|expected| *expected != received.sha256) => {
            Err(StepFailure::new(FailureKind::Corrupt, "the archive has another SHA-256"))
        }
        Ok(received) => replace(step, &file, path).await.map(|()| received),
        Err(failure) => Err(failure),
    };
    // A remaining file is removed at the next start.
    let _ = std::fs::remove_file(&file);
    done
}

async fn replace(step: &StepContext<'_>, file: &Path, path: &str) -> Result<()> {
    let target = step.runtime.places.real(path)?;
    let beside = step.runtime.places.real(&format!("{path}.extract"))?;
    remove_real(step, &beside).await?;
    std::fs::create_dir(&beside).context("extract")?;
    let (archive, folder, progress) = (file.to_owned(), beside.clone(), step.progress.clone());
    let is_root = matches!(step.runtime.settings.mode, crate::settings::Mode::Users);
    let extracted =
        step.blocking(move |stop| archive::unpack(&archive, &folder, is_root, &progress, stop)).await;
    if let Err(failure) = extracted {
        // The failure of the extraction is the one to report.
        let _ = remove_real(step, &beside).await;
        return Err(failure);
    }
    own_root(step, path, &beside)?;
    remove_real(step, &target).await?;
    std::fs::rename(&beside, &target).context("extract")
}

/// Gives the extracted folder itself its owner and permissions, which no entry of the archive has.
fn own_root(step: &StepContext<'_>, path: &str, folder: &Path) -> Result<()> {
    let Some(build) = users::owner(&step.runtime.settings.mode, User::BUILD) else { return Ok(()) };
    if path == MIRROR {
        chown(folder, None, Some(build.gid())).context("extract")?;
        return chmod(folder, Bits::from_raw_mode(MIRROR_MODE)).context("extract");
    }
    chown(folder, Some(build.uid()), Some(build.gid())).context("extract")
}

/// Only the mirror, the checkout and entries of the store are archived. Trees of threads never are.
fn check_folder(path: &str) -> Result<()> {
    let is_entry = path
        .strip_prefix(DEPS)
        .and_then(|rest| rest.strip_prefix('/'))
        .is_some_and(|key| ars_resident::names::LockfileKey::parse(key).is_ok());
    match path == MIRROR || path == CHECKOUT || is_entry {
        true => Ok(()),
        false => Err(invalid(format!("{path} has no archive"))),
    }
}
