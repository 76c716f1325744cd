//! Names given by callers or minted by the service, each with the pattern the specification fixes.
//!
//! Every type has one fallible constructor (`parse`); a value that exists is valid.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// A name that does not match its pattern. Never carries the offending text: it may be a secret pasted by mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} must {rule}")]
pub struct InvalidName {
    /// The kind of name, such as `run id`.
    pub what: &'static str,
    /// What a valid one looks like, phrased to follow "must".
    pub rule: &'static str,
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $what:literal, $rule:literal, $valid:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $type(String);

        impl $type {
            #[doc = concat!("Parses a ", $what, ": it must ", $rule, ".")]
            pub fn parse(text: impl Into<String>) -> Result<Self, InvalidName> {
                let text = text.into();
                let valid: fn(&str) -> bool = $valid;
                if valid(&text) { Ok(Self(text)) } else { Err(InvalidName { what: $what, rule: $rule }) }
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:?})", stringify!($type), self.0)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::parse(String::deserialize(deserializer)?).map_err(D::Error::custom)
            }
        }
    };
}

/// Longest run id, document 2 section 2.3.
const RUN_ID_MAX: usize = 64;
/// Longest generation, state-worker supplement section 9.1.
const GENERATION_MAX: usize = 128;
/// Longest store key, state-worker supplement section 1.5.
const STORE_KEY_MAX_CHARS: usize = 200;
/// Longest ref name, document 2 section 2.1 (one character, then up to 199).
const REF_MAX: usize = 200;
/// Longest owner of a repository slug, resident supplement section 1.1.
const OWNER_MAX: usize = 39;
/// Longest name of a repository slug, resident supplement section 1.1.
const REPO_NAME_MAX: usize = 100;

name!(
    /// Names one run: `^[A-Za-z0-9_-]{1,64}$` (document 2 section 2.3).
    RunId,
    "run id",
    "be 1 to 64 letters, digits, `_` or `-`",
    |text| (1..=RUN_ID_MAX).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
);

name!(
    /// One life of a bot process, the fencing token of its ledger writes: `^[A-Za-z0-9_.:-]{1,128}$` (state-worker
    /// supplement section 9.1).
    Generation,
    "generation",
    "be 1 to 128 letters, digits, `_`, `.`, `:` or `-`",
    |text| (1..=GENERATION_MAX).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.:-".contains(&b))
);

name!(
    /// Selects one isolated store of the state Worker, such as `runs:default` (state-worker supplement 1.5).
    StoreKey,
    "store key",
    "be 1 to 200 characters without white space or control characters",
    |text| !text.is_empty()
        && text.chars().count() <= STORE_KEY_MAX_CHARS
        && text.chars().all(is_plain)
);

name!(
    /// A branch, tag or commit name that is safe as one argument of git (document 2 section 2.1).
    RefName,
    "ref",
    "start with a letter or digit, hold only letters, digits, `.`, `_`, `/` or `-`, at most 200, and not `..`, `@{` or `.lock`",
    |text| text.len() <= REF_MAX
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._/-".contains(&b))
        && !text.contains("..")
        && !text.contains(".lock")
);

name!(
    /// `owner/name` of a repository, lower case (document 2 section 2.1, resident supplement 1.1).
    RepoSlug,
    "repository",
    "be `owner/name` in lower case",
    |text| {
        let alnum_ends = |part: &str| {
            let ok = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
            part.bytes().next().is_some_and(ok) && part.bytes().last().is_some_and(ok)
        };
        text.split_once('/').is_some_and(|(owner, name)| {
            owner.len() <= OWNER_MAX
                && name.len() <= REPO_NAME_MAX
                && alnum_ends(owner)
                && alnum_ends(name)
                && owner.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
                && name.bytes().all(|b| {
                    b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.' || b == b'_'
                })
        })
    }
);

/// Neither white space nor of the Unicode category C: control and format characters, private use, unassigned.
fn is_plain(c: char) -> bool {
    c.is_ascii_graphic()
        || !c.is_ascii() && !c.is_whitespace() && c.general_category_group() != GeneralCategoryGroup::Other
}

/// Names one conversation: `<platform>:<channel>:<thread>` (document 1 section 2.1).
///
/// The channel and thread are the caller's own words, so a thread key is opaque text: never a path, never an
/// argument. A path is derived from its digest.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ThreadKey(String);

impl ThreadKey {
    /// Joins platform, channel and thread.
    pub fn new(platform: &str, channel: &str, thread: &str) -> Self {
        Self(format!("{platform}:{channel}:{thread}"))
    }

    /// Reads a key back from its text; none when a part is missing.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ':');
        (parts.next().is_some_and(|platform| !platform.is_empty())
            && parts.next().is_some()
            && parts.next().is_some())
        .then(|| Self(text.to_owned()))
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ThreadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_ids_follow_their_pattern() {
        for good in ["a", "A_b-9", &"x".repeat(64)] {
            assert!(RunId::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "a/b", "é", &"x".repeat(65)] {
            assert!(RunId::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn generations_follow_their_pattern() {
        for good in ["20260101T000000Z-0a1b2c3d", "a.b:c_d", &"x".repeat(128)] {
            assert!(Generation::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "a/b", "é", &"x".repeat(129)] {
            assert!(Generation::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn refs_cannot_become_options_ranges_or_lock_files() {
        for good in ["main", "release/1.2", "0a1b2c"] {
            assert!(RefName::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "-x", "--upload-pack=x", "a..b", "a@{1}", "a.lock", "a b", "/a", &"x".repeat(201)] {
            assert!(RefName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn slugs_are_owner_and_name_in_lower_case() {
        for good in ["o/n", "acme-1/some.repo_x"] {
            assert!(RepoSlug::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "o", "o/", "/n", "O/n", "-o/n", "o/n-", "o/n/x", "../etc", "o/.."] {
            assert!(RepoSlug::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn store_keys_refuse_blanks_and_everything_of_category_c() {
        for good in ["runs:default", "!~", "ü", "e\u{301}", "\u{fffd}", "\u{1f600}", &"é".repeat(200)] {
            assert!(StoreKey::parse(good).is_ok(), "{good}");
        }
        let blanks = [" ", "a b", "a\t", "a\u{a0}b", "a\u{2028}", "a\u{3000}"];
        let others = ["\u{0}", "\u{7f}", "\u{85}", "\u{ad}", "\u{200b}", "\u{feff}", "\u{e000}", "\u{378}"];
        for bad in blanks.iter().chain(&others).chain(&["", &"x".repeat(201)]) {
            assert!(StoreKey::parse(*bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_refused_name_does_not_echo_the_text() {
        let error = RunId::parse("sk-ant-secret secret").unwrap_err();
        assert!(!error.to_string().contains("secret"));
        assert!(serde_json::from_str::<RunId>("\"a b\"").is_err());
    }
}
