//! Lists files and searches in them.
//!
//! Contents are opened through the confined directory, so a symlink cannot lead outside.

use std::{
    io::Read as _,
    path::Path,
    time::{Duration, Instant},
};

use ars_bot_ports::{Entry, LINE_BYTES, SearchHit, WorkspaceError};
use regex::bytes::{Regex, RegexBuilder};
use tokio_util::sync::CancellationToken;

use super::{files::Files, names::Names};

/// Maximum compiled pattern size in bytes.
const PATTERN_SIZE: usize = 1 << 20;
/// Maximum size in bytes for searched files: larger files are generated or data.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Timeout for a search, which then returns the results so far.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Returns existing files among the names, at most `limit` in byte order, and whether there were more.
pub(super) fn list(
    files: &Files,
    names: &Names,
    limit: usize,
    abandoned: &CancellationToken,
) -> (Vec<Entry>, bool) {
    let mut entries = Vec::new();
    for name in &names.names {
        // A deleted file stays in git's names until the deletion is committed.
        let Some(size) = files.listed_size(name) else {
            continue;
        };
        if entries.len() == limit || abandoned.is_cancelled() {
            return (entries, true);
        }
        entries.push(Entry {
            path: name.to_string_lossy().into_owned(),
            size,
        });
    }
    (entries, names.cut)
}

/// Compiles the caller's pattern within limits; matching always needs time linear in the text.
pub(crate) fn compile(pattern: &str) -> Result<Regex, WorkspaceError> {
    RegexBuilder::new(pattern)
        .size_limit(PATTERN_SIZE)
        .build()
        .map_err(|error| {
            WorkspaceError::Refused(format!("`pattern` is not a regular expression: {error}"))
        })
}

/// Returns matching lines, at most `limit`, and whether there were more or the time ran out.
pub(super) fn search(
    files: &Files,
    names: &Names,
    pattern: &Regex,
    limit: usize,
    abandoned: &CancellationToken,
) -> (Vec<SearchHit>, bool) {
    let until = Instant::now() + TIME_LIMIT;
    let mut hits = Vec::new();
    for name in &names.names {
        if Instant::now() > until || abandoned.is_cancelled() {
            return (hits, true);
        }
        let Some(content) = text_of(files, name) else {
            continue;
        };
        for (index, line) in lines(&content)
            .enumerate()
            .filter(|(_, line)| pattern.is_match(line))
        {
            if hits.len() == limit {
                return (hits, true);
            }
            let text = String::from_utf8_lossy(&line[..line.len().min(LINE_BYTES)]).into_owned();
            hits.push(SearchHit {
                path: name.to_string_lossy().into_owned(),
                line: index as u64 + 1,
                text,
            });
        }
    }
    (hits, names.cut)
}

/// Splits content into lines without their ends, for every convention.
fn lines(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    let content = content.strip_suffix(b"\n").unwrap_or(content);
    content
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// Returns a text file's content; `None` for binaries, special files and paths that lead outside.
fn text_of(files: &Files, relative: &Path) -> Option<Vec<u8>> {
    let (file, size) = files.open_regular(relative).ok()?;
    if size > MAX_FILE_BYTES {
        return None;
    }
    let mut content = Vec::with_capacity(usize::try_from(size).ok()?);
    file.take(MAX_FILE_BYTES).read_to_end(&mut content).ok()?;
    (!content.contains(&0)).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversized_pattern_is_rejected() {
        assert!(compile("a{2}").is_ok());
        for pattern in ["(", r"(\pL{1000}){1000}"] {
            assert!(
                matches!(compile(pattern), Err(WorkspaceError::Refused(_))),
                "{pattern}"
            );
        }
    }

    #[test]
    fn lines_end_by_either_convention() {
        assert_eq!(
            lines(b"a\r\nb\n\nc").collect::<Vec<_>>(),
            [&b"a"[..], b"b", b"", b"c"]
        );
        assert_eq!(lines(b"a\n").count(), 1);
    }
}
