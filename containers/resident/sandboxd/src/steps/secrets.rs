//! Removes secrets from a checkpoint's changed files.

use std::{
    io::{Seek as _, Write as _},
    path::Path,
};

use ars_resident::plan::User;
use ars_resident::saved_work::{SEARCHED_MAX, Secret, next_object, secret_in, unsearched};

use crate::{
    failure::{Context as _, Result, invalid},
    git::GitCall,
    process::Input,
    step::StepContext,
    stop::Stop,
};

/// Maximum bytes of the changed file list: more than the largest index leads to.
const CHANGED_MAX_BYTES: usize = 128 << 20;
/// A repository's mode in a tree.
const REPOSITORY: &str = "160000";

/// A changed index entry.
pub(super) struct Changed {
    /// Mode and object in `HEAD`. Both are zeros if it lacks the path.
    before: [String; 2],
    mode: String,
    object: String,
    /// May hold any bytes.
    path: Vec<u8>,
}

impl Changed {
    /// Returns the name of a repository in the tree that `HEAD` lacks.
    pub(super) fn embedded(&self) -> Option<String> {
        (self.mode == REPOSITORY && self.before[0] != REPOSITORY).then(|| self.name())
    }

    /// Returns the path for people.
    fn name(&self) -> String {
        String::from_utf8_lossy(&self.path).into_owned()
    }
}

/// Returns an index's changed entries.
pub(super) async fn changed(
    step: &StepContext<'_>,
    user: User,
    tree: &Path,
    index: &Path,
) -> Result<Vec<Changed>> {
    let arguments = [
        "diff-index",
        "--cached",
        "--raw",
        "-z",
        "--no-renames",
        "--no-abbrev",
        "HEAD",
    ];
    let call = GitCall::in_tree(user, tree, arguments).with_index(index);
    let (ended, streams) = call.run_streams(step.runtime, &step.stop).await?;
    let raw = streams.heads(CHANGED_MAX_BYTES).stdout;
    if ended.exit_code != 0 || raw.len() >= CHANGED_MAX_BYTES {
        return Err(invalid("the changed files cannot be listed"));
    }
    Ok(parse(&raw))
}

/// A file that a checkpoint cannot have unchanged.
enum Finding {
    /// It has a secret.
    Secret(Secret),
    /// It was not searched.
    Unsearched,
}

/// Replaces secrets in an index's changed files.
///
/// Returns the names of these files and of those that were not searched.
pub(super) async fn withhold(
    step: &StepContext<'_>,
    user: User,
    tree: &Path,
    index: &Path,
    mut changed: Vec<Changed>,
) -> Result<Vec<String>> {
    // Only regular files have text.
    changed.retain(|file| file.mode.starts_with("100"));
    let mut withheld = Vec::new();
    if changed.is_empty() {
        return Ok(withheld);
    }
    let mut skipped = changed.split_off(changed.len().min(SEARCHED_MAX));
    let mut search = Search::start(step, user, tree, changed).await?;
    loop {
        let (rest, found) = step
            .blocking(move |stop| {
                let found = search.next(stop)?;
                Ok((search, found))
            })
            .await?;
        search = rest;
        match found {
            Some((file, Finding::Secret(Secret::Text(text)))) => {
                let call = GitCall::in_tree(user, tree, ["hash-object", "-w", "--stdin"]);
                let call = call.with_input(input(step, text)?);
                let object = call
                    .run(step.runtime, &step.stop)
                    .await?
                    .succeeded(step.runtime)?
                    .text();
                set(step, user, tree, index, &file, &file.mode, &object).await?;
                withheld.push(file.name());
            }
            Some((file, Finding::Secret(Secret::Binary))) => {
                let [mode, object] = &file.before;
                set(step, user, tree, index, &file, mode, object).await?;
                withheld.push(format!("{} (left out)", file.name()));
            }
            Some((file, Finding::Unsearched)) => skipped.push(file),
            None => break,
        }
    }
    withheld.extend(unsearched(
        &skipped.iter().map(Changed::name).collect::<Vec<_>>(),
    ));
    Ok(withheld)
}

/// Parses lines like `:<mode> <mode> <object> <object> <status>`, each followed by a path.
fn parse(raw: &[u8]) -> Vec<Changed> {
    let mut parts = raw.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let (Some(line), Some(path)) = (parts.next(), parts.next()) {
        let line = String::from_utf8_lossy(line);
        let fields: Vec<_> = line.split(' ').collect();
        let [before, mode, before_object, object, _] = fields.as_slice() else {
            continue;
        };
        let before = [before.trim_start_matches(':'), before_object].map(str::to_owned);
        let [mode, object] = [mode, object].map(|text| (*text).to_owned());
        found.push(Changed {
            before,
            mode,
            object,
            path: path.to_owned(),
        });
    }
    found
}

/// A search through changed files. A single file is in memory at a time.
struct Search {
    files: std::vec::IntoIter<Changed>,
    contents: std::io::BufReader<std::fs::File>,
}

impl Search {
    /// Reads all files' content with a single call.
    async fn start(
        step: &StepContext<'_>,
        user: User,
        tree: &Path,
        changed: Vec<Changed>,
    ) -> Result<Self> {
        let names: String = changed
            .iter()
            .map(|file| format!("{}\n", file.object))
            .collect();
        let call =
            GitCall::in_tree(user, tree, ["cat-file", "--batch"]).with_input(input(step, &names)?);
        let (ended, streams) = call.run_streams(step.runtime, &step.stop).await?;
        if ended.exit_code != 0 {
            return Err(invalid("the changed files cannot be read"));
        }
        let contents = std::io::BufReader::new(streams.into_output().context("output")?);
        Ok(Self {
            files: changed.into_iter(),
            contents,
        })
    }

    /// Returns the next file that the checkpoint cannot have unchanged.
    fn next(&mut self, stop: &Stop) -> Result<Option<(Changed, Finding)>> {
        for file in self.files.by_ref() {
            stop.check()?;
            let Some(content) = next_object(&mut self.contents).context("output")? else {
                return Ok(Some((file, Finding::Unsearched)));
            };
            if let Some(secret) = secret_in(&content) {
                return Ok(Some((file, Finding::Secret(secret))));
            }
        }
        Ok(None)
    }
}

/// Changes a file's index entry. Zeros remove it.
async fn set(
    step: &StepContext<'_>,
    user: User,
    tree: &Path,
    index: &Path,
    file: &Changed,
    mode: &str,
    object: &str,
) -> Result<()> {
    let mut entry = format!("{mode} {object}\t").into_bytes();
    entry.extend_from_slice(&file.path);
    entry.push(0);
    let call =
        GitCall::in_tree(user, tree, ["update-index", "-z", "--index-info"]).with_index(index);
    let call = call.with_input(input(step, entry)?);
    call.run(step.runtime, &step.stop)
        .await?
        .succeeded(step.runtime)
        .map(drop)
}

pub(super) fn input(step: &StepContext<'_>, content: impl AsRef<[u8]>) -> Result<Input> {
    let mut file = tempfile::tempfile_in(step.runtime.streams()?).context("input")?;
    file.write_all(content.as_ref()).context("input")?;
    file.rewind().context("input")?;
    Ok(Input::File(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_files_are_parsed() {
        let zero = "0".repeat(40);
        let one = "1".repeat(40);
        let raw = format!(
            ":100644 100755 {zero} {one} M\0a b\nc\0:100644 000000 {one} {zero} D\0gone\0\
             :000000 160000 {zero} {one} A\0inner\0:160000 160000 {one} {zero} M\0module\0"
        );
        let found = parse(raw.as_bytes());
        assert_eq!(
            found.iter().map(Changed::embedded).collect::<Vec<_>>(),
            [None, None, Some("inner".to_owned()), None]
        );
        assert_eq!(
            (found[0].path.as_slice(), found[0].mode.as_str()),
            (&b"a b\nc"[..], "100755")
        );
    }
}
