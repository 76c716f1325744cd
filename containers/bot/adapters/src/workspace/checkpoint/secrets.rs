//! Searches a checkpoint's changed files for secrets, and replaces them.
//!
//! All calls block.

use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Write as _},
    path::Path,
};

use ars_codehost::diff::unquoted;
use ars_resident::saved_work::{SEARCHED_MAX, Secret, next_object, secret_in, unsearched};

/// Mode for a repository in a tree.
const REPOSITORY: &str = "160000";
/// Prefix of a regular file's mode.
const REGULAR: &str = "100";

/// Result that a search returns.
#[derive(Debug, Default)]
pub(super) struct Searched {
    /// Files that the checkpoint lacks, or has without their secrets.
    pub(super) withheld: Vec<String>,
    /// Files were changed for the checkpoint, which is made again.
    pub(super) has_secrets: bool,
}

/// A changed entry: `:<mode> <mode> <object> <object> <status>`, a tab, and the path as git quotes it.
struct Changed<'a> {
    before: [&'a str; 2],
    mode: &'a str,
    path: &'a str,
}

impl<'a> Changed<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (fields, path) = line.split_once('\t')?;
        let fields: Vec<_> = fields.split(' ').collect();
        let [before, mode, object, _, _] = fields.as_slice() else {
            return None;
        };
        Some(Self {
            before: [before.strip_prefix(':')?, object],
            mode,
            path,
        })
    }
}

/// Searches the changed files in a quarantine.
/// Writes the entries that replace those with secrets.
pub(super) fn search(quarantine: &Path) -> io::Result<Searched> {
    let raw = fs::read_to_string(quarantine.join("raw"))?;
    let mut contents = BufReader::new(File::open(quarantine.join("blobs"))?);
    let [mut entries, mut texts, mut paths] = [Vec::new(), Vec::new(), Vec::new()];
    let mut searched = Searched::default();
    let mut skipped = Vec::new();
    for (number, line) in raw.lines().enumerate() {
        // Each line has an object in the output, also a missing object.
        let content = next_object(&mut contents)?;
        let Some(file) = Changed::parse(line) else {
            continue;
        };
        if file.mode == REPOSITORY && file.before[0] != REPOSITORY {
            searched
                .withheld
                .push(format!("{} (a repository of its own)", unquoted(file.path)));
        }
        if !file.mode.starts_with(REGULAR) {
            continue;
        }
        match content
            .filter(|_| number < SEARCHED_MAX)
            .map(|content| secret_in(&content))
        {
            None => skipped.push(unquoted(file.path)),
            Some(None) => {}
            Some(Some(Secret::Text(text))) => {
                let place = quarantine.join(format!("text-{number}"));
                fs::write(&place, text)?;
                writeln!(paths, "{}", place.display())?;
                writeln!(texts, "{}\t{}", file.mode, file.path)?;
                searched.withheld.push(unquoted(file.path));
                searched.has_secrets = true;
            }
            Some(Some(Secret::Binary)) => {
                let [mode, object] = file.before;
                writeln!(entries, "{mode} {object}\t{}", file.path)?;
                searched
                    .withheld
                    .push(format!("{} (left out)", unquoted(file.path)));
                searched.has_secrets = true;
            }
        }
    }
    searched.withheld.extend(unsearched(&skipped));
    for (name, content) in [("entries", entries), ("texts", texts), ("paths", paths)] {
        fs::write(quarantine.join(name), content)?;
    }
    Ok(searched)
}

/// Returns the first line from git's errors about files that it could not read.
pub(super) fn unread(quarantine: &Path) -> io::Result<String> {
    let mut line = Vec::new();
    BufReader::new(File::open(quarantine.join("errors"))?).read_until(b'\n', &mut line)?;
    Ok(ars_events::clean(
        String::from_utf8_lossy(&line).trim(),
        200,
    ))
}
