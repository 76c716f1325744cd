//! Earlier mirrors: they are set aside before a new one is made, which then gets their checkpoints.
//!
//! A damaged mirror is a reason for a new one, so what it cannot read is given up and logged. Any other failure leaves
//! the earlier mirror where it is, for the next attempt.

use std::{
    collections::BTreeMap,
    fs, io,
    ops::RangeInclusive,
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

/// The exit codes of git for what it cannot read. A program that was killed has another one.
const UNREADABLE: RangeInclusive<i32> = 1..=128;

/// Sets the mirror aside if it has checkpoints, and removes it otherwise.
pub(super) async fn set(step: &StepContext<'_>) -> Result<Answer> {
    step.require_root()?;
    // A tree that is not complete any more is not verified.
    markers::remove(step, &[READY, BUILT])?;
    let [mirror, aside] = [MIRROR, EARLIER_MIRRORS].map(|path| step.runtime.places.real(path));
    let (mirror, aside) = (mirror?, aside?);
    if !quick::has_refs(&mirror, NAMESPACE) {
        return folders::remove(step, MIRROR).await;
    }
    fs::create_dir_all(&aside).context(EARLIER_MIRRORS)?;
    let number = earlier(&aside).context(EARLIER_MIRRORS)?.last_key_value().map_or(1, |(last, _)| last + 1);
    fs::rename(mirror, aside.join(number.to_string())).context(MIRROR)?;
    Ok(Answer::Done)
}

/// Brings the checkpoints of earlier mirrors into the new one, the oldest first, and discards each.
pub(super) async fn adopt(step: &StepContext<'_>) -> Result<Answer> {
    step.require_root()?;
    let aside = step.runtime.places.real(EARLIER_MIRRORS)?;
    for (number, mirror) in earlier(&aside).context(EARLIER_MIRRORS)? {
        gather(step, &mirror).await?;
        trash::discard(step, &format!("{EARLIER_MIRRORS}/{number}")).await?;
    }
    Ok(Answer::Done)
}

/// Returns the mirrors that are set aside, the oldest first.
fn earlier(aside: &Path) -> io::Result<BTreeMap<u64, PathBuf>> {
    let entries = match fs::read_dir(aside) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(error),
    };
    let mut found = BTreeMap::new();
    for entry in entries {
        let entry = entry?;
        if let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) {
            found.insert(number, entry.path());
        }
    }
    Ok(found)
}

/// Brings the checkpoints of an earlier mirror into the new one.
async fn gather(step: &StepContext<'_>, from: &Path) -> Result<()> {
    let listed = list(step, from).await?;
    if UNREADABLE.contains(&listed.exit_code) {
        tracing::warn!("the checkpoints of a damaged mirror are lost");
        return Ok(());
    }
    let to = step.runtime.places.real(MIRROR)?;
    let has = names(&list(step, &to).await?.succeeded(step.runtime)?);
    let wanted: Vec<(String, String)> = names(&listed.succeeded(step.runtime)?)
        .into_iter()
        .filter_map(|(name, commit)| match has.get(&name) {
            None => Some((format!("{name}:{name}"), commit)),
            Some(same) if *same == commit => None,
            // Both count: the engine finds a checkpoint by its commit.
            Some(_) => Some((format!("{name}:{name}.{commit}"), commit)),
        })
        .collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let all: Vec<&str> = wanted.iter().map(|(refspec, _)| refspec.as_str()).collect();
    if fetch(step, (from, &to), &all).await?.exit_code == 0 {
        return Ok(());
    }
    let mut lost = 0_usize;
    for (refspec, commit) in &wanted {
        let fetched = fetch(step, (from, &to), &[refspec]).await?;
        if fetched.exit_code == 0 {
            continue;
        }
        let read =
            git(from, &["rev-list", "--objects", "--quiet", commit, "--"]).run(step.runtime, &step.stop);
        if !UNREADABLE.contains(&read.await?.exit_code) {
            return fetched.succeeded(step.runtime).map(drop);
        }
        lost += 1;
    }
    tracing::warn!(lost, of = wanted.len(), "checkpoints of a damaged mirror are lost");
    Ok(())
}

async fn list(step: &StepContext<'_>, mirror: &Path) -> Result<GitOutput> {
    let call = git(mirror, &["for-each-ref", "--format=%(refname) %(objectname)", NAMESPACE]);
    call.run(step.runtime, &step.stop).await
}

/// Returns the commits by the names of a listing.
fn names(listed: &GitOutput) -> BTreeMap<String, String> {
    let parse = |line: &str| line.split_once(' ').map(|(name, commit)| (name.to_owned(), commit.to_owned()));
    listed.text().lines().filter_map(parse).collect()
}

async fn fetch(step: &StepContext<'_>, (from, to): (&Path, &Path), refspecs: &[&str]) -> Result<GitOutput> {
    let mut call = git(to, &["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--stdin", "--"]);
    call.args.push(from.into());
    let lines: String = refspecs.iter().map(|refspec| format!("{refspec}\n")).collect();
    call.with_input(secrets::input(step, lines)?).run(step.runtime, &step.stop).await
}

fn git<'a>(mirror: &Path, args: &[&str]) -> GitCall<'a> {
    GitCall::new(User::ROOT, mirror.to_owned(), args.iter().map(Into::into).collect())
}
