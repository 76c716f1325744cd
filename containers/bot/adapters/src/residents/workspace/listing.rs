//! Parses the output of the scripts that list folders and search files.

use ars_bot_ports::{Entry, LINE_BYTES, SearchHit};
use regex::bytes::Regex;

/// Parses one listed file. Only files and links are listed.
pub(super) fn entry(line: &[u8]) -> Option<Entry> {
    const KIND: u32 = 0o170_000;
    const FILE: u32 = 0o100_000;
    const LINK: u32 = 0o120_000;
    let line = String::from_utf8_lossy(line);
    let mut parts = line.splitn(3, ' ');
    let mode = u32::from_str_radix(parts.next()?, 16).ok()?;
    let size = parts.next()?.parse().ok()?;
    let path = parts.next()?.to_owned();
    matches!(mode & KIND, FILE | LINK).then_some(Entry { path, size })
}

/// Parses the found lines. The pattern decides again, because git's expressions are a little different.
pub(super) fn hits(output: &[u8], pattern: &Regex) -> Vec<SearchHit> {
    let hit = |line: &[u8]| {
        let (path, rest) = split(line, |byte| byte == 0)?;
        let (number, text) = split(rest, |byte| byte == 0 || byte == b':')?;
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let text = &text[..text.len().min(LINE_BYTES)];
        let line = String::from_utf8_lossy(number).parse().ok()?;
        let path = String::from_utf8_lossy(path).into_owned();
        pattern.is_match(text).then(|| SearchHit {
            path,
            line,
            text: String::from_utf8_lossy(text).into_owned(),
        })
    };
    output
        .split(|byte| *byte == b'\n')
        .filter_map(hit)
        .collect()
}

fn split(bytes: &[u8], is_end: impl Fn(u8) -> bool) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|byte| is_end(*byte))?;
    Some((&bytes[..at], &bytes[at + 1..]))
}
