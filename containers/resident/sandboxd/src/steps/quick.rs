//! A checkpoint's quick way: the files that changed since the last checkpoint, or since the attach.
//!
//! It starts from the index that was left then, so that git reads and writes changed files only. It
//! is taken for the same run only, and while refs, index and ignore rules are unchanged. An unusual
//! tree, such as a tree with a secret in a file, takes the other way.

use std::{fs, path::Path};

use ars_resident::layout::MIRROR;
use ars_resident::names::Sha;
use ars_resident::plan::User;
use ars_resident::saved_work::MESSAGE;
use cap_std::fs::Dir;

use super::{beside, loose, transfer};
use crate::{
    failure::{Context as _, Result, invalid},
    footprint::{Footprint, WatchedTree},
    git::GitCall,
    kept::{Attached, Kept, Known, Objects, Saved},
    step::StepContext,
};

/// Saves a tree's changed files. Prints the tree, and the commit if the tree is new.
///
/// Arguments: git, known tree, the message's first line, parents.
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
/// Maximum script output in bytes.
const OUTPUT_MAX: usize = 256 << 10;
/// Maximum objects over successive quick checkpoints.
const ADOPTED_MAX: usize = 1_000;

/// How a quick checkpoint ended.
pub(super) enum Quick {
    /// There is nothing to save.
    Nothing,
    /// The last checkpoint has it.
    Saved { last: Saved, is_new: bool },
}

/// Saves a tree in the quick way. Returns `None` if the other way must be taken.
pub(super) async fn save(
    step: &StepContext<'_>,
    user: User,
    tree: (&str, &Path),
    namespace: &str,
) -> Result<Option<Quick>> {
    let done = match step.shared.known.take(tree.1) {
        Some(Known::Attached(attached)) => first(step, user, tree, namespace, attached).await,
        Some(Known::Kept(kept)) if kept.saved.namespace == namespace => {
            next(step, user, tree, *kept).await
        }
        Some(Known::Kept(_)) | None => return Ok(None),
    };
    // The other way reports the error.
    step.stop.check()?;
    Ok(done.unwrap_or_default())
}

/// Saves a tree that had neither a change nor a commit when it was attached.
async fn first(
    step: &StepContext<'_>,
    user: User,
    tree: (&str, &Path),
    namespace: &str,
    Attached {
        base,
        footprint: then,
    }: Attached,
) -> Result<Option<Quick>> {
    let folder = Dir::from(step.runtime.places.open_dir(tree.0)?);
    let (mirror, namespace) = (step.runtime.places.real(MIRROR)?, namespace.to_owned());
    let saved = Saved {
        namespace: namespace.clone(),
        number: 0,
        sha: base.sha.clone(),
        tree: base.tree.clone(),
        parents: vec![base.sha.clone()],
        head_tree: base.tree.clone(),
    };
    let watched = step.blocking(move |_| {
        // The settings change with the credential. A file that they ignore now was not in the
        // commit either.
        let now = Footprint::read(&folder).filter(|now| now.has_same_refs(&then));
        let now = now.filter(|_| !has_refs(&mirror, &namespace));
        Ok(now
            .and_then(|now| WatchedTree::new(&folder, now, b""))
            .map(|watched| (watched, then)))
    });
    let Some((watched, then)) = watched.await? else {
        return Ok(None);
    };
    let index = beside::copy_index(step, user, tree).await?;
    let objects = beside::make_objects(step, user, tree).await?;
    let done = commit(
        step,
        user,
        tree,
        Kept {
            saved,
            index,
            objects,
            watched,
        },
    )
    .await?;
    if let Some(Quick::Nothing) = &done {
        step.shared.known.keep(
            tree.1,
            Known::Attached(Attached {
                base,
                footprint: then,
            }),
        );
    }
    Ok(done)
}

/// Returns whether the mirror has a ref below this name.
pub(super) fn has_refs(mirror: &Path, namespace: &str) -> bool {
    let packed = fs::read(mirror.join("packed-refs")).unwrap_or_default();
    let name = format!(" {namespace}/");
    mirror.join(namespace).exists()
        || packed
            .windows(name.len())
            .any(|part| part == name.as_bytes())
}

/// Saves a tree that has a checkpoint from the run.
async fn next(
    step: &StepContext<'_>,
    user: User,
    tree: (&str, &Path),
    kept: Kept,
) -> Result<Option<Quick>> {
    let folder = Dir::from(step.runtime.places.open_dir(tree.0)?);
    let mirror = step.runtime.places.real(MIRROR)?;
    let fits = move |_: &_| {
        let has_last = fs::read_to_string(mirror.join(kept.saved.git_ref()))
            .is_ok_and(|commit| commit.trim_end() == kept.saved.sha);
        Ok((has_last && kept.watched.is_current(&folder)).then_some(kept))
    };
    match step.blocking(fits).await? {
        Some(kept) => commit(step, user, tree, kept).await,
        None => Ok(None),
    }
}

async fn commit(
    step: &StepContext<'_>,
    user: User,
    (_, real): (&str, &Path),
    kept: Kept,
) -> Result<Option<Quick>> {
    let Kept {
        saved,
        index,
        objects,
        watched,
    } = kept;
    let words = [saved.tree.as_str(), MESSAGE]
        .into_iter()
        .chain(saved.parents.iter().map(String::as_str));
    let call = GitCall::new(user, real.to_owned(), words.map(Into::into).collect())
        .with_index(&index.real)
        .with_objects(&objects.real, &real.join(".git/objects"))
        .with_script(SAVE);
    let (ended, streams) = call.run_streams(step.runtime, &step.stop).await?;
    let output = streams.heads(OUTPUT_MAX);
    let text = String::from_utf8_lossy(&output.stdout);
    let (mut lines, added) = (text.lines(), output.stderr);
    let new_tree = lines
        .next()
        .filter(|_| ended.exit_code == 0 && added.len() < OUTPUT_MAX);
    let Some(new_tree) = new_tree else {
        return Ok(None);
    };
    if new_tree == saved.head_tree {
        // Beside other checkpoints or commits it may need another checkpoint.
        return Ok((saved.number == 0).then_some(Quick::Nothing));
    }
    let (saved, objects, is_new) = match lines.next() {
        None => (saved, objects, false),
        Some(sha) => {
            let commit = Sha::parse(sha).map_err(|error| invalid(error.to_string()))?;
            let (number, sha, tree) = (saved.number + 1, sha.to_owned(), new_tree.to_owned());
            let saved = Saved {
                number,
                sha,
                tree,
                ..saved
            };
            let Some(objects) = adopt(step, objects, saved.git_ref(), commit).await? else {
                return Ok(None);
            };
            (saved, objects, true)
        }
    };
    let followed = step.blocking(move |_| {
        let watched = watched.followed(&objects.tree, &added);
        Ok(watched
            .filter(|_| objects.adopted.len() < ADOPTED_MAX)
            .map(|watched| (watched, objects)))
    });
    if let Some((watched, objects)) = followed.await? {
        let kept = Kept {
            saved: saved.clone(),
            index,
            objects,
            watched,
        };
        step.shared.known.keep(real, Known::Kept(Box::new(kept)));
    }
    Ok(Some(Quick::Saved {
        last: saved,
        is_new,
    }))
}

/// Brings the new objects into the mirror, checks that the commit is complete there, and names it.
///
/// Content that the tree's repository has makes no object. Unless the mirror has it too, the commit
/// is incomplete.
async fn adopt(
    step: &StepContext<'_>,
    mut objects: Objects,
    git_ref: String,
    commit: Sha,
) -> Result<Option<Objects>> {
    let mirror = step.runtime.places.real(MIRROR)?;
    let place = mirror.clone();
    let adopted = step.blocking(move |stop| {
        let folder = objects.tree.open_dir(&objects.path).context("objects")?;
        let Some(found) = loose::searched(&folder, &objects.adopted, stop)? else {
            return Ok(None);
        };
        let written = loose::adopt(&place, &found).context("mirror")?;
        objects
            .adopted
            .extend(found.into_iter().map(|object| object.id));
        Ok(Some((objects, written)))
    });
    let Some((objects, mut written)) = adopted.await? else {
        return Ok(None);
    };
    transfer::check_complete(step, commit.as_str()).await?;
    let named = step.blocking(move |_| loose::name(&mirror, &git_ref, &commit).context("ref"));
    written.push(named.await?);
    tokio::task::spawn_blocking(move || loose::flush(&written));
    Ok(Some(objects))
}
