//! Checkpoints that a power loss tore: the mirror's disk does not have them whole.
//!
//! A quick checkpoint is answered before the files are written to the disk. A ref without its
//! objects would make every later fetch and checkpoint fail.

use std::{
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use ars_resident::layout::MIRROR;
use ars_resident::names::Sha;
use ars_resident::saved_work::NAMESPACE;

use super::{folders::entries, loose::FOLDER_DIGITS, secrets};
use crate::{
    failure::{Context as _, Result},
    git::GitCall,
    step::StepContext,
    stop::Stop,
};

/// Git's exit code for an object that it cannot read.
const UNREADABLE: i32 = 128;

/// Removes empty objects, and checkpoints that cannot be read.
pub(crate) async fn forget(step: &StepContext<'_>) -> Result<()> {
    let mirror = step.runtime.places.real(MIRROR)?;
    let refs = step.blocking(move |stop| {
        remove_empty_objects(&mirror.join("objects"), stop)?;
        let mut found = Vec::new();
        readable_refs(&mirror.join(NAMESPACE), stop, &mut found)?;
        Ok(found)
    });
    let refs = refs.await?;
    let all: Vec<&Sha> = refs.iter().map(|(_, commit)| commit).collect();
    // Without the others nothing is known about a checkpoint.
    if refs.is_empty() || check(step, &all).await? == 0 || check(step, &[]).await? != 0 {
        return Ok(());
    }
    for (file, commit) in &refs {
        // Git has this code also if the machine lacks memory for a moment, so all is asked again.
        let is_lost = check(step, &[commit]).await? == UNREADABLE
            && check(step, &[]).await? == 0
            && check(step, &[commit]).await? == UNREADABLE;
        if is_lost {
            tracing::warn!(%commit, "a checkpoint was not on the disk yet and is lost");
            fs::remove_file(file).context("checkpoint")?;
        }
    }
    Ok(())
}

/// Looks for all objects in these commits. Returns git's exit code.
async fn check(step: &StepContext<'_>, commits: &[&Sha]) -> Result<i32> {
    let args = [
        "rev-list",
        "--objects",
        "--quiet",
        "--stdin",
        "--not",
        "--exclude=refs/ars/*",
        "--all",
    ];
    let lines: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
    let call = GitCall::in_mirror(step.runtime, args)?;
    let checked = call
        .with_input(secrets::input(step, lines)?)
        .run(step.runtime, &step.stop)
        .await?;
    Ok(checked.exit_code)
}

/// Removes objects without content. Git writes none, and refuses to replace them.
fn remove_empty_objects(objects: &Path, stop: &Stop) -> Result<()> {
    for folder in entries(objects).context("objects")? {
        if folder.file_name().as_bytes().len() != FOLDER_DIGITS {
            continue;
        }
        stop.check()?;
        for object in entries(&folder.path()).context("objects")? {
            if object.metadata().context("objects")?.len() == 0 {
                fs::remove_file(object.path()).context("objects")?;
            }
        }
    }
    Ok(())
}

/// Finds the refs below a folder, with their files, and removes those that name no commit.
fn readable_refs(folder: &Path, stop: &Stop, found: &mut Vec<(PathBuf, Sha)>) -> Result<()> {
    stop.check()?;
    for entry in entries(folder).context("refs")? {
        let path = entry.path();
        if entry.file_type().context("refs")?.is_dir() {
            readable_refs(&path, stop, found)?;
            continue;
        }
        let content = fs::read(&path).context("refs")?;
        match Sha::parse(String::from_utf8_lossy(&content).trim_end()) {
            Ok(commit) => found.push((path, commit)),
            Err(_) => fs::remove_file(&path).context("refs")?,
        }
    }
    Ok(())
}
