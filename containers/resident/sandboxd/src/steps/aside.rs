//! Earlier mirrors: set aside before a new mirror is made, which then gets their checkpoints.
//!
//! A damaged mirror is a reason for a new mirror, so what git cannot read is left behind in it. It
//! stays until the next damaged mirror, for a person. A full disk and a program that was killed end
//! the step, and the next attempt repeats it.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use ars_resident::daemon::Answer;
use ars_resident::layout::{BUILT, EARLIER_MIRRORS, MIRROR, READY};
use ars_resident::plan::User;
use ars_resident::saved_work::NAMESPACE;

use super::{folders, markers, quick, secrets, trash};
use crate::{
    failure::{Context as _, Result},
    git::{GitCall, GitOutput},
    step::StepContext,
};

/// The last exit code without a kill.
const LAST_EXIT: i32 = 128;
/// How git and the system report a full disk.
const FULL: &str = "No space left on device";
/// The last damaged mirror's folder, beside the others' numbers.
const DAMAGED: &str = "damaged";

/// Sets the mirror aside if it has checkpoints, and removes it otherwise.
pub(super) async fn set(step: &StepContext<'_>) -> Result<Answer> {
    step.require_root()?;
    let [mirror, aside] = [MIRROR, EARLIER_MIRRORS].map(|path| step.runtime.places.real(path));
    let (mirror, aside) = (mirror?, aside?);
    if !quick::has_refs(&mirror, NAMESPACE) {
        return folders::remove(step, MIRROR).await;
    }
    // A tree that is not complete any more is not verified.
    markers::remove(step, &[READY, BUILT])?;
    fs::create_dir_all(&aside).context(EARLIER_MIRRORS)?;
    let number = earlier(&aside)
        .context(EARLIER_MIRRORS)?
        .last_key_value()
        .map_or(1, |(last, _)| last + 1);
    fs::rename(mirror, aside.join(number.to_string())).context(MIRROR)?;
    Ok(Answer::Done)
}

/// Brings earlier mirrors' checkpoints into the new mirror, the oldest first.
pub(super) async fn adopt(step: &StepContext<'_>) -> Result<Answer> {
    step.require_root()?;
    let aside = step.runtime.places.real(EARLIER_MIRRORS)?;
    for (number, mirror) in earlier(&aside).context(EARLIER_MIRRORS)? {
        if gather(step, &mirror).await? {
            trash::discard(step, &format!("{EARLIER_MIRRORS}/{number}")).await?;
            continue;
        }
        tracing::warn!("checkpoints of a damaged mirror cannot be read");
        trash::discard(step, &format!("{EARLIER_MIRRORS}/{DAMAGED}")).await?;
        fs::rename(mirror, aside.join(DAMAGED)).context(EARLIER_MIRRORS)?;
    }
    Ok(Answer::Done)
}

/// Returns the mirrors that are set aside, the oldest first.
fn earlier(aside: &Path) -> io::Result<BTreeMap<u64, PathBuf>> {
    let number = |entry: &fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    Ok(folders::entries(aside)?
        .iter()
        .filter_map(|entry| Some((number(entry)?, entry.path())))
        .collect())
}

/// Brings an earlier mirror's checkpoints into the new mirror. Returns whether all could be read.
async fn gather(step: &StepContext<'_>, from: &Path) -> Result<bool> {
    let to = step.runtime.places.real(MIRROR)?;
    let has = names(&list(step, &to).await?.succeeded(step.runtime)?);
    let listed = list(step, from).await?;
    let found = names(&listed);
    let mut is_whole = is_read(step, listed)?;
    let wanted: Vec<String> = found
        .into_iter()
        .filter_map(|(name, commit)| match has.get(&name) {
            None => Some(format!("{name}:{name}")),
            Some(same) if *same == commit => None,
            // Both count: the engine finds a checkpoint by commit.
            Some(_) => Some(format!("{name}:{name}.{commit}")),
        })
        .collect();
    if wanted.is_empty() || is_read(step, fetch(step, (from, &to), &wanted).await?)? {
        return Ok(is_whole);
    }
    for refspec in wanted.chunks(1) {
        is_whole &= is_read(step, fetch(step, (from, &to), refspec).await?)?;
    }
    Ok(is_whole)
}

/// Returns whether git could read everything, unless it was killed or the disk is full.
fn is_read(step: &StepContext<'_>, output: GitOutput) -> Result<bool> {
    let is_full = String::from_utf8_lossy(&output.stderr).contains(FULL);
    match output.exit_code {
        0 => Ok(true),
        1..=LAST_EXIT if !is_full => Ok(false),
        _ => output.succeeded(step.runtime).map(|_| false),
    }
}

async fn list(step: &StepContext<'_>, mirror: &Path) -> Result<GitOutput> {
    let call = git(
        mirror,
        &[
            "for-each-ref",
            "--format=%(refname) %(objectname)",
            NAMESPACE,
        ],
    );
    call.run(step.runtime, &step.stop).await
}

/// Returns a listing's commits by name.
fn names(listed: &GitOutput) -> BTreeMap<String, String> {
    let parse = |line: &str| {
        line.split_once(' ')
            .map(|(name, commit)| (name.to_owned(), commit.to_owned()))
    };
    listed.text().lines().filter_map(parse).collect()
}

/// Fetches refs, which are on the disk before the earlier mirror is removed.
async fn fetch(
    step: &StepContext<'_>,
    (from, to): (&Path, &Path),
    refspecs: &[String],
) -> Result<GitOutput> {
    let args = [
        "-c",
        "core.fsync=committed",
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
    ];
    let mut call = git(to, &args);
    call.args
        .extend(["--stdin".into(), "--".into(), from.into()]);
    let lines: String = refspecs
        .iter()
        .map(|refspec| format!("{refspec}\n"))
        .collect();
    call.with_input(secrets::input(step, lines)?)
        .run(step.runtime, &step.stop)
        .await
}

fn git<'a>(mirror: &Path, args: &[&str]) -> GitCall<'a> {
    GitCall::new(
        User::ROOT,
        mirror.to_owned(),
        args.iter().map(Into::into).collect(),
    )
}
