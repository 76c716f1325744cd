//! Parses `git diff --raw --numstat -z`: first each file's change, then the line counts.

use std::collections::HashMap;

/// A single file's change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    /// Git's letter: `A`dded, `M`odified, `D`eleted, `R`enamed, `T`ype changed.
    pub(super) kind: char,
    /// The current path, or a deleted file's last path.
    pub(super) path: String,
    /// A renamed file's previous path.
    pub(super) from: Option<String>,
    /// Lines added and removed; absent for a binary file.
    pub(super) counts: Option<(u64, u64)>,
}

impl Change {
    /// Returns the number of changed lines.
    pub(super) fn lines(&self) -> u64 {
        self.counts.map_or(0, |(added, removed)| added + removed)
    }
}

/// Parses every change, in git's order. Malformed records are skipped.
pub(super) fn read(output: &[u8]) -> Vec<Change> {
    let mut fields = output.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let mut changes: Vec<Change> = Vec::new();
    let mut by_path: HashMap<String, usize> = HashMap::new();
    while let Some(field) = fields.next() {
        if let Some(raw) = field.strip_prefix(':') {
            let Some(kind) = raw
                .rsplit(' ')
                .next()
                .and_then(|status| status.chars().next())
            else {
                continue;
            };
            let mut path = || fields.next().map(std::borrow::Cow::into_owned);
            let from = if is_pair(kind) { path() } else { None };
            let Some(path) = path() else { break };
            by_path.insert(path.clone(), changes.len());
            changes.push(Change {
                kind,
                path,
                from,
                counts: None,
            });
        } else if let Some((counts, path)) = counted(&field) {
            // A renamed file's counts are followed by both paths.
            let path = if path.is_empty() {
                fields.next();
                fields.next().map(std::borrow::Cow::into_owned)
            } else {
                Some(path.to_owned())
            };
            if let Some(change) = path.and_then(|path| changes.get_mut(*by_path.get(&path)?)) {
                change.counts = counts;
            }
        }
    }
    changes
}

/// Returns whether git names two paths for this kind of change.
fn is_pair(kind: char) -> bool {
    matches!(kind, 'R' | 'C')
}

/// `<added> TAB <removed> TAB <path>`; dashes stand for a binary file's counts.
fn counted(field: &str) -> Option<(Option<(u64, u64)>, &str)> {
    let mut parts = field.splitn(3, '\t');
    let (added, removed, path) = (parts.next()?, parts.next()?, parts.next()?);
    if (added, removed) == ("-", "-") {
        return Some((None, path));
    }
    Some((Some((added.parse().ok()?, removed.parse().ok()?)), path))
}
