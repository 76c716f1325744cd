//! A commit by full id.

use std::fmt;

/// Minimum digits by which a report may shorten a commit.
const MIN_REPORTED_DIGITS: usize = 7;

/// A commit: 40 or 64 hexadecimal digits in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Commit(String);

impl Commit {
    /// Parses a whole id.
    pub fn parse(text: &str) -> Option<Self> {
        let is_whole =
            matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_whole.then(|| Self(text.to_ascii_lowercase()))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the first digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..MIN_REPORTED_DIGITS]
    }

    /// Returns whether a reported id, which may be shortened, is this commit.
    pub fn is_reported(&self, reported: &str) -> bool {
        reported.len() >= MIN_REPORTED_DIGITS && self.0.starts_with(&reported.to_ascii_lowercase())
    }
}

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commit_is_a_whole_id() {
        let commit = Commit::parse(&"AB".repeat(20)).unwrap();
        assert_eq!(
            (commit.as_str(), commit.short()),
            ("ab".repeat(20).as_str(), "abababa")
        );
        for bad in ["", "abababa", &"g".repeat(40), &"a".repeat(41)] {
            assert_eq!(Commit::parse(bad), None, "{bad}");
        }
        for (reported, is_it) in [
            ("abababa", true),
            ("ABABABAB", true),
            ("ababab", false),
            ("abababb", false),
        ] {
            assert_eq!(commit.is_reported(reported), is_it, "{reported}");
        }
    }
}
