//! Markers on the disk.

use std::fs;

use ars_resident::daemon::Answer;
use ars_resident::layout::{BUILT, DEPS_KEY, READY, STATE};
use ars_resident::names::{LockfileKey, Sha};

use crate::{
    failure::{Context as _, Result},
    runtime::Runtime,
    step::StepContext,
};

/// Removes the build marker, and with `has_deps` the dependency marker.
pub(super) fn unmark(step: &StepContext<'_>, has_deps: bool) -> Result<Answer> {
    step.require_root()?;
    remove(
        step,
        if has_deps {
            &[BUILT, DEPS_KEY]
        } else {
            &[BUILT]
        },
    )?;
    Ok(Answer::Done)
}

/// Writes the markers. The verified tree's marker comes last.
pub(super) fn mark(step: &StepContext<'_>, sha: &Sha, key: &LockfileKey) -> Result<Answer> {
    step.require_root()?;
    for (path, text) in [
        (DEPS_KEY, key.as_str()),
        (BUILT, sha.as_str()),
        (READY, sha.as_str()),
    ] {
        write(step.runtime, path, text)?;
    }
    Ok(Answer::Marked {
        runtime: step.runtime.id.clone(),
    })
}

/// Writes a marker by a rename.
pub(super) fn write(runtime: &Runtime, path: &str, text: &str) -> Result<()> {
    let staging = runtime
        .places
        .real(&format!("{STATE}/marker-{}", uuid::Uuid::new_v4()))?;
    fs::write(&staging, text).context(path)?;
    fs::rename(&staging, runtime.places.real(path)?).context(path)
}

/// Reads a marker. An invalid marker counts as absent.
pub(super) fn read<T>(
    runtime: &Runtime,
    path: &str,
    parse: impl Fn(String) -> Option<T>,
) -> Option<T> {
    let text = fs::read_to_string(runtime.places.real(path).ok()?).ok()?;
    parse(text.trim().to_owned())
}

/// Removes markers from the disk.
pub(super) fn remove(step: &StepContext<'_>, paths: &[&str]) -> Result<()> {
    for path in paths {
        match fs::remove_file(step.runtime.places.real(path)?) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).context(path);
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}
