//! Restores a checkpoint in a tree that was made for it.

use std::{ffi::OsStr, fs, io, path::Path, time::Duration};

use ars_bot_ports::WorkspaceError;

use super::{
    super::{
        disk::blocking_io,
        git::{Git, GitLimits},
        programs::Script,
    },
    message::Heads,
    mirror::Mirror,
    script,
};

/// Timeout for a restore.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// Maximum size of a checkpoint commit in bytes.
const COMMIT_MAX_BYTES: usize = 256 << 10;
/// The file with other branches' commits, in the temporary folder.
const TIPS: &str = "tmp/tips";

/// Restores a mirror commit in git's tree, which has no work.
///
/// The files come from the checkpoint. Commit, branch, other branches and stashes are the former
/// ones, and nothing is staged.
pub(in super::super) async fn restore(
    git: &Git<'_>,
    mirror: &Mirror,
    commit: &str,
) -> Result<(), WorkspaceError> {
    let (found, place) = (mirror.clone(), git.place.to_path_buf());
    let folder = blocking_io(move || {
        let folder = found
            .folder()?
            .ok_or_else(|| io::Error::other("there is no mirror"))?;
        Ok((found.lock()?, folder))
    });
    let (_lock, mirror) = folder.await?;
    let heads = read(git, &mirror, commit).await?;
    let tips = heads
        .tips
        .iter()
        .map(|(commit, name)| format!("{commit} {name}\n"))
        .collect::<String>();
    blocking_io(move || fs::write(place.join(TIPS), tips)).await?;
    let (tree, tips) = (git.place.join("tree"), git.place.join(TIPS));
    let [head, branch] = [heads.head, heads.branch].map(Option::unwrap_or_default);
    let script = Script {
        text: script::RESTORE,
        name: "restore",
        folder: git.place,
        writable: &[&tree, &git.place.join("tmp")],
        readable: &[&mirror],
    };
    let arguments = [
        mirror.as_os_str(),
        tree.as_os_str(),
        OsStr::new(commit),
        OsStr::new(&head),
        OsStr::new(&branch),
        tips.as_os_str(),
    ];
    let limits = GitLimits {
        time: RESTORE_TIMEOUT,
        output: COMMIT_MAX_BYTES,
    };
    let output = git.run(git.script(&script, &arguments), limits).await?;
    if output.exit_code != 0 {
        let words = output.own_words();
        return Err(WorkspaceError::Infra(format!(
            "the checkpoint could not be restored: {words}"
        )));
    }
    Ok(())
}

/// Reads what a checkpoint's commit says about branches.
async fn read(git: &Git<'_>, mirror: &Path, commit: &str) -> Result<Heads, WorkspaceError> {
    let folder = OsStr::new("--git-dir");
    let words = [
        folder,
        mirror.as_os_str(),
        "cat-file".as_ref(),
        "commit".as_ref(),
        commit.as_ref(),
    ];
    let temporary = git.place.join("tmp");
    let program = git.apart(&[&temporary], &[mirror], &words);
    let output = git
        .run(
            program,
            GitLimits {
                time: RESTORE_TIMEOUT,
                output: COMMIT_MAX_BYTES,
            },
        )
        .await?;
    if output.exit_code != 0 {
        return Err(WorkspaceError::NotFound(
            "the checkpoint is not in its mirror any more".into(),
        ));
    }
    Ok(Heads::parse(&String::from_utf8_lossy(&output.output)))
}
