//! Removes secrets from the changed files of a checkpoint.

use std::{
    io::{Seek as _, Write as _},
    path::Path,
};

use ars_events::redact;
use ars_resident::plan::User;

use crate::{
    failure::{Context as _, Result},
    git::GitCall,
    process::Input,
    step::StepContext,
    stop::Stop,
};

/// Largest file that is searched. Larger ones are data.
const SEARCHED_MAX_BYTES: usize = 1 << 20;
/// Most changed files that are searched. With more, each further one is a generated file.
const SEARCHED_MAX: usize = 5_000;
/// Mode of a repository in a tree.
const REPOSITORY: &str = "160000";

/// A changed entry of the index.
pub(super) struct Changed {
    /// Mode in `HEAD`.
    before: String,
    mode: String,
    object: String,
    path: String,
}

impl Changed {
    /// Returns the name of a repository in the tree that `HEAD` lacks.
    pub(super) fn embedded(&self) -> Option<&str> {
        (self.mode == REPOSITORY && self.before != REPOSITORY).then_some(self.path.as_str())
    }
}

/// Returns the changed entries of an index.
pub(super) async fn changed(
    step: &StepContext<'_>,
    user: User,
    tree: &Path,
    index: &Path,
) -> Result<Vec<Changed>> {
    let arguments = ["diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "HEAD"];
    let call = GitCall::in_tree(user, tree, arguments).with_index(index);
    let output = call.run(step.runtime, &step.stop).await?.succeeded(step.runtime)?;
    Ok(parse(&String::from_utf8_lossy(&output.stdout)))
}

/// Replaces secrets in the changed files of an index, and returns the paths of these files.
pub(super) async fn withhold(
    step: &StepContext<'_>,
    user: User,
    tree: &Path,
    index: &Path,
    mut changed: Vec<Changed>,
) -> Result<Vec<String>> {
    // Only regular files have text.
    changed.retain(|file| file.mode.starts_with("100"));
    changed.truncate(SEARCHED_MAX);
    let mut withheld = Vec::new();
    if changed.is_empty() {
        return Ok(withheld);
    }
    let mut search = Search::start(step, user, tree, changed).await?;
    loop {
        let (rest, found) = step
            .blocking(move |stop| {
                let found = search.next(stop)?;
                Ok((search, found))
            })
            .await?;
        search = rest;
        let Some((file, clean)) = found else { return Ok(withheld) };
        replace(step, user, tree, index, &file, &clean).await?;
        withheld.push(file.path);
    }
}

/// Parses lines of `:<mode> <mode> <object> <object> <status>`, each followed by its path.
fn parse(raw: &str) -> Vec<Changed> {
    let mut parts = raw.split('\0');
    let mut found = Vec::new();
    while let (Some(line), Some(path)) = (parts.next(), parts.next()) {
        let fields: Vec<_> = line.split(' ').collect();
        let [before, mode, _, object, _] = fields.as_slice() else { continue };
        let before = before.trim_start_matches(':');
        let [before, mode, object] = [before, mode, object].map(str::to_owned);
        found.push(Changed { before, mode, object, path: path.to_owned() });
    }
    found
}

/// A search through changed files. One file is in memory at a time.
struct Search {
    files: std::vec::IntoIter<Changed>,
    contents: std::io::BufReader<std::fs::File>,
}

impl Search {
    /// Reads the content of all files by one call.
    async fn start(step: &StepContext<'_>, user: User, tree: &Path, changed: Vec<Changed>) -> Result<Self> {
        let names: String = changed.iter().map(|file| format!("{}\n", file.object)).collect();
        let call = GitCall::in_tree(user, tree, ["cat-file", "--batch"]).with_input(input(step, &names)?);
        let (ended, streams) = call.run_streams(step.runtime, &step.stop).await?;
        if ended.exit_code != 0 {
            return Err(crate::failure::invalid("the changed files cannot be read"));
        }
        let contents = std::io::BufReader::new(streams.into_output().context("output")?);
        Ok(Self { files: changed.into_iter(), contents })
    }

    /// Returns the next file with a secret, and its text without it.
    fn next(&mut self, stop: &Stop) -> Result<Option<(Changed, String)>> {
        for file in self.files.by_ref() {
            stop.check()?;
            let content = next_object(&mut self.contents).context("output")?;
            let Some(Ok(text)) = content.map(String::from_utf8) else { continue };
            let clean = redact(&text);
            if clean != text {
                return Ok(Some((file, clean.into_owned())));
            }
        }
        Ok(None)
    }
}

/// Reads `<object> blob <size>`, the content, and a line feed.
/// Returns `None` for a larger or missing object.
fn next_object(output: &mut impl std::io::BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut head = String::new();
    output.read_line(&mut head)?;
    let Some(size) = head.trim_end().rsplit(' ').next().and_then(|size| size.parse::<usize>().ok()) else {
        return Ok(None);
    };
    let mut content = Vec::new();
    let mut rest = std::io::Read::take(&mut *output, size as u64 + 1);
    if size > SEARCHED_MAX_BYTES {
        std::io::copy(&mut rest, &mut std::io::sink())?;
        return Ok(None);
    }
    std::io::Read::read_to_end(&mut rest, &mut content)?;
    content.pop();
    Ok(Some(content))
}

/// Puts another content into the index.
async fn replace(
    step: &StepContext<'_>,
    user: User,
    tree: &Path,
    index: &Path,
    file: &Changed,
    text: &str,
) -> Result<()> {
    let call = GitCall::in_tree(user, tree, ["hash-object", "-w", "--stdin"]).with_input(input(step, text)?);
    let object = call.run(step.runtime, &step.stop).await?.succeeded(step.runtime)?.text();
    let entry = format!("{},{object},{}", file.mode, file.path);
    let call = GitCall::in_tree(user, tree, ["update-index", "--cacheinfo", &entry]).with_index(index);
    call.run(step.runtime, &step.stop).await?.succeeded(step.runtime).map(drop)
}

/// Makes input of a program.
pub(super) fn input(step: &StepContext<'_>, text: &str) -> Result<Input> {
    let mut file = tempfile::tempfile_in(step.runtime.streams()?).context("input")?;
    file.write_all(text.as_bytes()).context("input")?;
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
        let found = parse(&raw);
        assert_eq!(found.iter().map(Changed::embedded).collect::<Vec<_>>(), [None, None, Some("inner"), None]);
        assert_eq!((found[0].path.as_str(), found[0].mode.as_str()), ("a b\nc", "100755"));
    }

    #[test]
    fn objects_follow_each_other() {
        let mut output = std::io::Cursor::new(b"abc blob 3\nx\ny\nabc missing\nabc blob 0\n\n".to_vec());
        assert_eq!(next_object(&mut output).unwrap(), Some(b"x\ny".to_vec()));
        assert_eq!(next_object(&mut output).unwrap(), None);
        assert_eq!(next_object(&mut output).unwrap(), Some(Vec::new()));
    }
}
