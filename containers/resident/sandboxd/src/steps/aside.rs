//! The earlier mirror: it is set aside before a new one is made, which then gets its checkpoints.
//!
//! A damaged mirror is a reason for a new one, so what cannot be read is left behind and logged.

use std::ffi::OsString;

use ars_resident::daemon::{Answer, FailureKind};
use ars_resident::layout::{BUILT, EARLIER_MIRROR, MIRROR, READY};
use ars_resident::plan::User;
use ars_resident::saved_work::NAMESPACE;
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

use super::{markers, trash};
use crate::{
    failure::{Context as _, Result},
    git::GitCall,
    runtime::words,
    step::StepContext,
};

/// Sets the mirror aside. A missing one is set aside already.
pub(super) async fn set(step: &StepContext<'_>) -> Result<Answer> {
    step.require_root()?;
    let places = &step.runtime.places;
    // A tree that is not complete any more is not verified.
    markers::remove(step, &[READY, BUILT])?;
    let [(from, name), (to, aside)] = [places.parent(MIRROR)?, places.parent(EARLIER_MIRROR)?];
    match renameat_with(&from, &name, &to, &aside, RenameFlags::NOREPLACE) {
        Ok(()) | Err(Errno::NOENT) => Ok(Answer::Done),
        // The attempt that set it aside did not get as far as its checkpoints.
        Err(Errno::EXIST) => trash::discard(step, MIRROR).await,
        Err(error) => Err(error).context(MIRROR),
    }
}

/// Brings the checkpoints of the earlier mirror into the new one, and discards the earlier one.
pub(super) async fn adopt(step: &StepContext<'_>) -> Result<Answer> {
    step.require_root()?;
    match step.runtime.places.open_dir(EARLIER_MIRROR) {
        Ok(_) => {}
        Err(failure) if failure.kind == FailureKind::NotFound => return Ok(Answer::Done),
        Err(failure) => return Err(failure),
    }
    if !fetch(step, &format!("{NAMESPACE}/*")).await? {
        let refs = refs(step).await?;
        let mut lost = 0_usize;
        for name in &refs {
            lost += usize::from(!fetch(step, name).await?);
        }
        tracing::warn!(lost, of = refs.len(), "checkpoints of a damaged mirror could not be read");
    }
    trash::discard(step, EARLIER_MIRROR).await
}

/// Fetches a ref, or all that match. Returns whether it could be read.
async fn fetch(step: &StepContext<'_>, name: &str) -> Result<bool> {
    let (runtime, stop) = (step.runtime, &step.stop);
    let mut args = words(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--"]).to_vec();
    args.push(runtime.places.real(EARLIER_MIRROR)?.into());
    args.push(OsString::from(format!("+{name}:{name}")));
    let call = GitCall::new(User::ROOT, runtime.places.real(MIRROR)?, args);
    Ok(call.run(runtime, stop).await?.exit_code == 0)
}

async fn refs(step: &StepContext<'_>) -> Result<Vec<String>> {
    let args = words(["for-each-ref", "--format=%(refname)", NAMESPACE]).to_vec();
    let call = GitCall::new(User::ROOT, step.runtime.places.real(EARLIER_MIRROR)?, args);
    let listed = call.run(step.runtime, &step.stop).await?;
    Ok(listed.text().lines().map(str::to_owned).collect())
}
