//! A tree's credential: a file in the repository, and the git setting that names it.

use std::path::Path;
use std::time::UNIX_EPOCH;

use ars_resident::daemon::{Answer, FailureKind, StepInput};
use ars_resident::plan::User;
use ars_resident::thread::CredentialFile;

use super::files::{read_whole, write_in};
use crate::{
    failure::{Context as _, Result, invalid},
    git::{GitCall, credential_line, store_command},
    step::StepContext,
    users,
};

/// The file, in the tree.
const FILE: &str = ".git/github-credentials";
/// Mode of the credential file.
const SECRET_MODE: u32 = 0o600;
/// Git setting that names the file.
const SETTING: &str = "credential.helper";
/// The settings file in the tree's repository.
const CONFIG: &str = ".git/config";
/// Prefix of the setting's section.
const SECTION: &[u8] = b"[credential";
/// Git's exit code if the setting to remove does not exist.
const NO_SETTING: i32 = 5;

pub(super) async fn write(step: &StepContext<'_>, tree: &str) -> Result<Answer> {
    let user = User::Unprivileged(step.tree_user()?);
    let StepInput::Credential(credential) = &step.request.input else {
        return Err(invalid("a credential is written with one"));
    };
    let line = credential_line(credential)?;
    let (folder, file) = step.runtime.places.in_tree(&format!("{tree}/{FILE}"))?;
    write_in(
        &folder,
        &file,
        line.as_bytes(),
        SECRET_MODE,
        users::owner(&step.runtime.settings.mode, user),
    )?;
    let real = step.runtime.places.real(tree)?;
    let helper = store_command(&real.join(FILE));
    let call = GitCall::in_tree(user, &real, ["config", "--replace-all", SETTING, &helper]);
    call.run(step.runtime, &step.stop)
        .await?
        .succeeded(step.runtime)?;
    Ok(Answer::Written {
        bytes: line.len() as u64,
    })
}

/// Reports whether the file is there.
pub(super) fn check(step: &StepContext<'_>, tree: &str) -> Result<Answer> {
    step.tree_user()?;
    let (folder, file) = step.runtime.places.in_tree(&format!("{tree}/{FILE}"))?;
    let file = match folder.symlink_metadata(&file) {
        Ok(meta) if meta.len() == 0 => CredentialFile::Empty,
        Ok(meta) => {
            let written = meta.modified().context("credential")?.into_std();
            let since = written.duration_since(UNIX_EPOCH).unwrap_or_default();
            let written_at = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
            CredentialFile::Present {
                written_at,
                expires_at: None,
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => CredentialFile::Missing,
        Err(error) => return Err(error).context("credential"),
    };
    Ok(Answer::Credential { file })
}

/// Removes the file and the setting.
pub(super) async fn scrub(step: &StepContext<'_>, tree: &str) -> Result<Answer> {
    let user = User::Unprivileged(step.tree_user()?);
    let (folder, file) = step.runtime.places.in_tree(&format!("{tree}/{FILE}"))?;
    match folder.remove_file(&file).context("credential") {
        Err(failure) if failure.kind != FailureKind::NotFound => return Err(failure),
        Ok(()) | Err(_) => {}
    }
    let real = step.runtime.places.real(tree)?;
    let config = step
        .blocking(move |_| read_whole(&folder, Path::new(CONFIG)))
        .await?;
    if config.windows(SECTION.len()).any(|part| part == SECTION) {
        let call = GitCall::in_tree(user, &real, ["config", "--unset-all", SETTING]);
        let output = call.run(step.runtime, &step.stop).await?;
        if output.exit_code != NO_SETTING {
            output.succeeded(step.runtime)?;
        }
    }
    Ok(Answer::Done)
}
