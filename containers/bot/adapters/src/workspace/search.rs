//! Listing and searching the files that git does not ignore.
//!
//! Names come from git, contents through the confined directory: a symlink in the list can lead nowhere outside.

use std::{
    io::Read as _,
    path::Path,
    time::{Duration, Instant},
};

use ars_bot_core::ports::{Entry, SearchHit, WorkspaceError};
use regex::bytes::{Regex, RegexBuilder};

use super::files::Files;

/// Largest compiled pattern; a larger one is refused.
const PATTERN_SIZE: usize = 1 << 20;
/// Files above this are not searched: generated or data.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Most characters of a line shown.
const LINE_CHARS: usize = 300;
/// A search ends here with what it has.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The existing files among git's names, in byte order, at most `limit`; true when there were more.
pub(super) fn list(files: &Files, names: &[String], limit: usize) -> (Vec<Entry>, bool) {
    let mut entries = Vec::new();
    for name in names {
        // A file that is deleted but not yet committed is still one of git's names.
        let Some(size) = files.listed_size(Path::new(name)) else { continue };
        if entries.len() == limit {
            return (entries, true);
        }
        entries.push(Entry { path: name.clone(), size });
    }
    (entries, false)
}

/// Matching lines, at most `limit`; true when there were more or time ran out.
pub(super) fn search(
    files: &Files,
    names: &[String],
    pattern: &str,
    limit: usize,
) -> Result<(Vec<SearchHit>, bool), WorkspaceError> {
    let pattern = RegexBuilder::new(pattern).size_limit(PATTERN_SIZE).build().map_err(|error| {
        WorkspaceError::Refused(format!("`pattern` is not a regular expression: {error}"))
    })?;
    let until = Instant::now() + TIME_LIMIT;
    let mut hits = Vec::new();
    for name in names {
        if Instant::now() > until {
            return Ok((hits, true));
        }
        let Some(content) = text_of(files, Path::new(name)) else { continue };
        for (index, line) in matching_lines(&content, &pattern) {
            if hits.len() == limit {
                return Ok((hits, true));
            }
            let text: String = String::from_utf8_lossy(line).trim_end().chars().take(LINE_CHARS).collect();
            hits.push(SearchHit { path: name.clone(), line: index as u64 + 1, text });
        }
    }
    Ok((hits, false))
}

fn matching_lines<'a>(content: &'a [u8], pattern: &'a Regex) -> impl Iterator<Item = (usize, &'a [u8])> {
    content.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| pattern.is_match(line))
}

/// The content of a file worth searching; binaries, specials and what leads outside are passed over.
fn text_of(files: &Files, relative: &Path) -> Option<Vec<u8>> {
    let (file, size) = files.open_regular(relative).ok()?;
    if size > MAX_FILE_BYTES {
        return None;
    }
    let mut content = Vec::with_capacity(usize::try_from(size).ok()?);
    file.take(MAX_FILE_BYTES).read_to_end(&mut content).ok()?;
    (!content.contains(&0)).then_some(content)
}
