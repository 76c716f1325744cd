//! Moves commits between a tree and the mirror.
//!
//! Objects travel as a pack between two programs with different users, so neither works in the
//! other's repository.

use std::path::Path;

use ars_resident::daemon::{Answer, StepInput};
use ars_resident::names::Sha;
use ars_resident::plan::User;

use super::secrets;
use crate::{
    failure::{Context as _, Result, invalid},
    git::GitCall,
    process::Input,
    runtime::Runtime,
    step::StepContext,
    stop::Stop,
};

/// Arguments for the program that makes a pack.
const PACK: [&str; 4] = ["pack-objects", "--revs", "--stdout", "-q"];
/// Arguments for the program that reads it.
const UNPACK: [&str; 2] = ["unpack-objects", "-q"];
/// Maximum bytes of git's words in a failure.
const WORDS_MAX: usize = 4_096;

/// Brings a tree's commit into the mirror.
pub(super) async fn receive(step: &StepContext<'_>, tree: &str, sha: &Sha) -> Result<Answer> {
    let user = User::Unprivileged(step.tree_user()?);
    must_have_no_input(step)?;
    let real = step.runtime.places.real(tree)?;
    let known = known(step, &remotes(step.runtime, user, &real, &step.stop).await?).await?;
    to_mirror(step, user, &real, sha.as_str(), &known).await?;
    Ok(Answer::Done)
}

/// Brings a mirror commit into a tree, and names it there.
pub(super) async fn send(
    step: &StepContext<'_>,
    tree: &str,
    sha: &Sha,
    name: &str,
) -> Result<Answer> {
    let user = User::Unprivileged(step.tree_user()?);
    must_have_no_input(step)?;
    let (runtime, stop) = (step.runtime, &step.stop);
    let real = runtime.places.real(tree)?;
    let known = known(step, &remotes(runtime, user, &real, stop).await?).await?;
    let wanted = revisions(sha.as_str(), &known);
    let pack = GitCall::in_mirror(runtime, PACK)?;
    unpack(step, pack, wanted, GitCall::in_tree(user, &real, UNPACK)).await?;
    let named = ["update-ref", "--end-of-options", name, sha.as_str()];
    GitCall::in_tree(user, &real, named)
        .run(runtime, stop)
        .await?
        .succeeded(runtime)?;
    Ok(Answer::Done)
}

fn must_have_no_input(step: &StepContext<'_>) -> Result<()> {
    match step.request.input {
        StepInput::None => Ok(()),
        _ => Err(invalid("a transfer of a commit takes no input")),
    }
}

/// Returns a tree's remote branches: their commits came from the mirror or the code host.
async fn remotes(runtime: &Runtime, user: User, real: &Path, stop: &Stop) -> Result<Vec<String>> {
    let call = GitCall::in_tree(
        user,
        real,
        ["for-each-ref", "--format=%(objectname)", "refs/remotes"],
    );
    let mut found: Vec<String> = call
        .run(runtime, stop)
        .await?
        .succeeded(runtime)?
        .text()
        .lines()
        .map(str::to_owned)
        .collect();
    found.sort();
    found.dedup();
    Ok(found)
}

/// Brings a commit into the mirror, and checks that it is complete there.
pub(super) async fn to_mirror(
    step: &StepContext<'_>,
    user: User,
    real: &Path,
    sha: &str,
    known: &[String],
) -> Result<()> {
    let wanted = revisions(sha, known);
    unpack(
        step,
        GitCall::in_tree(user, real, PACK),
        wanted,
        GitCall::in_mirror(step.runtime, UNPACK)?,
    )
    .await?;
    check_complete(step, sha).await
}

/// Checks that the mirror has all objects in a commit.
pub(super) async fn check_complete(step: &StepContext<'_>, sha: &str) -> Result<()> {
    let (runtime, stop) = (step.runtime, &step.stop);
    let connected = ["rev-list", "--objects", "--quiet", sha, "--not", "--all"];
    GitCall::in_mirror(runtime, connected)?
        .run(runtime, stop)
        .await?
        .succeeded(runtime)
        .map(drop)
}

/// Returns the remote branches' commits that the mirror has too.
pub(super) async fn known(step: &StepContext<'_>, remotes: &[String]) -> Result<Vec<String>> {
    let names: String = remotes.iter().map(|name| format!("{name}\n")).collect();
    let batch = GitCall::in_mirror(
        step.runtime,
        ["cat-file", "--batch-check=%(objectname) %(objecttype)"],
    )?;
    let batch = batch.with_input(secrets::input(step, names)?);
    let found = batch
        .run(step.runtime, &step.stop)
        .await?
        .succeeded(step.runtime)?
        .text();
    Ok(found
        .lines()
        .filter_map(|line| line.strip_suffix(" commit"))
        .map(str::to_owned)
        .collect())
}

/// Returns a pack's revisions: the commit, without those that tree and mirror both have.
fn revisions(sha: &str, known: &[String]) -> String {
    known
        .iter()
        .fold(format!("{sha}\n"), |all, base| format!("{all}^{base}\n"))
}

/// Passes a pack between two programs.
async fn unpack(
    step: &StepContext<'_>,
    pack: GitCall<'_>,
    wanted: String,
    unpack: GitCall<'_>,
) -> Result<()> {
    let (runtime, stop) = (step.runtime, &step.stop);
    let pack = pack.with_input(secrets::input(step, wanted)?);
    let (ended, streams) = pack.run_streams(runtime, stop).await?;
    if ended.exit_code != 0 {
        let heads = streams.heads(WORDS_MAX);
        return Err(invalid(String::from_utf8_lossy(&heads.stderr).into_owned()));
    }
    let pack = Input::File(streams.into_output().context("pack")?);
    unpack
        .with_input(pack)
        .run(runtime, stop)
        .await?
        .succeeded(runtime)
        .map(drop)
}
