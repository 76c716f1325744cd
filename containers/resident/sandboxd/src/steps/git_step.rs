//! Git calls that a plan names, and the lockfile listing.

use std::{ffi::OsString, path::Path};

use ars_resident::daemon::{Answer, CommandEnd, FailureKind, StepFailure, StepInput};
use ars_resident::layout::MIRROR;
use ars_resident::names::Sha;
use ars_resident::plan::User;

use super::folders::remove_real;
use crate::{
    failure::{Result, invalid},
    git::{GitCall, GitOutput},
    step::StepContext,
};

/// Files at a commit's root that determine the dependencies.
const LOCKFILES: [&str; 13] = [
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "go.sum",
    "Cargo.lock",
    "uv.lock",
    "poetry.lock",
    "requirements.txt",
    "Gemfile.lock",
    "composer.lock",
];

/// Runs a plan's git call.
pub(super) async fn git(
    step: &StepContext<'_>,
    args: &[String],
    cwd: &str,
    has_credential: bool,
) -> Result<Answer> {
    let user = step.request.step.user;
    let is_root = matches!(user, User::Root(_));
    // Tree settings that others can change could run programs.
    if is_root && cwd != MIRROR && cwd != "/" {
        return Err(invalid("root's git runs in the mirror only"));
    }
    let places = &step.runtime.places;
    let folder = if cwd == "/" {
        places.root().to_owned()
    } else {
        places.real(cwd)?
    };
    let args = args
        .iter()
        .map(|arg| places.argument(arg))
        .collect::<Result<Vec<_>>>()?;
    remove_partial_clone(step, &args).await?;
    let mut call = GitCall::new(user, folder, args);
    call.credential = match (&step.request.input, has_credential) {
        (StepInput::Credential(credential), true) if is_root => Some(credential),
        (StepInput::None, _) => None,
        _ => return Err(invalid("this call of git takes no such input")),
    };
    let output = call
        .run(step.runtime, &step.stop)
        .await?
        .succeeded(step.runtime)?;
    Ok(Answer::Command(end(&output)))
}

/// Removes a clone's target, which an earlier attempt may have begun.
async fn remove_partial_clone(step: &StepContext<'_>, args: &[OsString]) -> Result<()> {
    let (Some(first), Some(target)) = (args.first(), args.last()) else {
        return Ok(());
    };
    if first != "clone" {
        return Ok(());
    }
    let (root, target) = (step.runtime.places.root(), Path::new(target));
    if target == root || !target.starts_with(root) {
        return Err(invalid("the target of a clone is in the workspace"));
    }
    remove_real(step, target).await
}

fn end(output: &GitOutput) -> CommandEnd {
    CommandEnd {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        exit_code: output.exit_code,
        timed_out: false,
        free_kib: None,
        refused: Vec::new(),
    }
}

pub(super) async fn lockfiles(step: &StepContext<'_>, sha: &Sha) -> Result<Answer> {
    let mut call = GitCall::in_mirror(step.runtime, ["ls-tree", sha.as_str(), "--"])?;
    call.args.extend(LOCKFILES.map(Into::into));
    let output = call.run(step.runtime, &step.stop).await?;
    match output.exit_code {
        0 => Ok(Answer::Listing {
            text: String::from_utf8_lossy(&output.stdout).into_owned(),
        }),
        _ => {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(StepFailure::new(FailureKind::NotFound, text))
        }
    }
}
