//! The quick way of a checkpoint: the files that changed since the last one of the same run.
//!
//! It starts from the index that the last checkpoint left, so that git reads and writes changed files only. It is taken
//! while refs, index and rules of ignored files are unchanged. An unusual tree, such as one with a secret in a file,
//! takes the other way.

use std::{fs, path::Path};

use ars_resident::layout::MIRROR;
use ars_resident::plan::User;
use ars_resident::saved_work::MESSAGE;
use cap_std::fs::Dir;

use super::{loose, transfer};
use crate::{
    failure::{Context as _, Result},
    git::GitCall,
    kept::{Kept, Objects, Saved},
    step::StepContext,
};

/// Saves the changed files of a tree. Prints its tree, and its commit if the tree is another one.
///
/// Arguments: git, known tree, first line of the message, parents.
const SAVE: &str = r#"
git=$1 known=$2 title=$3
shift 3
"$git" add --all --verbose -- . >&2 || exit 92
t=$("$git" write-tree) || exit 94
echo "$t"
[ "$t" != "$known" ] || exit 0
parents=''
for sha; do parents="$parents -p $sha"; done
# The words are ids of commits.
"$git" commit-tree --no-gpg-sign -m "$title" $parents "$t" || exit 96
"#;
/// Bytes of the output of the script.
const OUTPUT_MAX: usize = 256 << 10;
/// Most objects of quick checkpoints that follow each other.
const ADOPTED_MAX: usize = 1_000;
/// The name of no commit.
const NONE: &str = "0000000000000000000000000000000000000000";

/// Saves a tree in the quick way.
///
/// Returns the checkpoint and whether it is new, or `None` if the other way must be taken.
pub(super) async fn save(
    step: &StepContext<'_>,
    user: User,
    (tree, real): (&str, &Path),
    namespace: &str,
) -> Result<Option<(Saved, bool)>> {
    let kept = step.shared.kept.take(real).filter(|kept| kept.saved.namespace == namespace);
    let Some(kept) = kept else { return Ok(None) };
    let done = save_kept(step, user, (tree, real), kept).await;
    // The other way reports the error.
    step.stop.check()?;
    Ok(done.unwrap_or_default())
}

async fn save_kept(
    step: &StepContext<'_>,
    user: User,
    (tree, real): (&str, &Path),
    kept: Kept,
) -> Result<Option<(Saved, bool)>> {
    let folder = Dir::from(step.runtime.places.open_dir(tree)?);
    let mirror = step.runtime.places.real(MIRROR)?;
    let fits = move |_: &_| {
        let has_last = fs::read_to_string(mirror.join(kept.saved.git_ref()))
            .is_ok_and(|commit| commit.trim_end() == kept.saved.sha);
        Ok((has_last && kept.watched.is_current(&folder)).then_some((kept, folder)))
    };
    let Some((kept, folder)) = step.blocking(fits).await? else { return Ok(None) };
    let Kept { saved, index, objects, watched } = kept;
    let words = [saved.tree.as_str(), MESSAGE].into_iter().chain(saved.parents.iter().map(String::as_str));
    let call = GitCall::new(user, real.to_owned(), words.map(Into::into).collect())
        .with_index(&index.real)
        .with_objects(&objects.real, &real.join(".git/objects"))
        .with_script(SAVE);
    let (ended, streams) = call.run_streams(step.runtime, &step.stop).await?;
    let output = streams.heads(OUTPUT_MAX);
    let text = String::from_utf8_lossy(&output.stdout);
    let (mut lines, added) = (text.lines(), output.stderr);
    let new_tree = lines.next().filter(|_| ended.exit_code == 0 && added.len() < OUTPUT_MAX);
    // A tree without changes may need no checkpoint.
    let Some(new_tree) = new_tree.filter(|tree| *tree != saved.head_tree) else { return Ok(None) };
    let (saved, objects, is_new) = match lines.next() {
        None => (saved, objects, false),
        Some(sha) => {
            let count = added.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"add '")).count();
            let Some(objects) = adopt(step, objects, count, sha).await? else { return Ok(None) };
            let (number, sha, tree) = (saved.number + 1, sha.to_owned(), new_tree.to_owned());
            let saved = Saved { number, sha, tree, ..saved };
            let named = ["update-ref", &saved.git_ref(), &saved.sha, NONE];
            GitCall::in_mirror(step.runtime, named)?
                .run(step.runtime, &step.stop)
                .await?
                .succeeded(step.runtime)?;
            (saved, objects, true)
        }
    };
    let followed = step.blocking(move |_| Ok(watched.followed(&folder, &added))).await?;
    if let Some(watched) = followed.filter(|_| objects.adopted.len() < ADOPTED_MAX) {
        step.shared.kept.keep(real, Kept { saved: saved.clone(), index, objects, watched });
    }
    Ok(Some((saved, is_new)))
}

/// Brings the new objects into the mirror, and checks that the commit is complete there.
async fn adopt(
    step: &StepContext<'_>,
    mut objects: Objects,
    files: usize,
    sha: &str,
) -> Result<Option<Objects>> {
    let mirror = step.runtime.places.real(MIRROR)?;
    let adopted = step.blocking(move |stop| {
        let folder = objects.tree.open_dir(&objects.path).context("objects")?;
        let Some(found) = loose::searched(&folder, &objects.adopted, files, stop)? else { return Ok(None) };
        loose::adopt(&mirror, &found).context("mirror")?;
        objects.adopted.extend(found.into_iter().map(|object| object.id));
        Ok(Some(objects))
    });
    let Some(objects) = adopted.await? else { return Ok(None) };
    transfer::check_complete(step, sha).await?;
    Ok(Some(objects))
}
