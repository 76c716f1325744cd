//! Names in residents: resources, thread keys, commits, keys, paths, commands, users.
//!
//! Every type has a single fallible constructor, so no plan can contain invalid text. Pages:
//! docs/reference/residents.md#validation. Not here: refs and slugs (`ars-types`).

use std::fmt;

use ars_types::{InvalidName, Platform, RepoSlug, RunId, StrictRefName, ThreadKey};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use sha2::{Digest, Sha256};

/// Maximum length of a resource id in characters.
const RESOURCE_MAX_CHARS: usize = 63;
/// Maximum length of the platform in a resident's thread key, in characters.
const THREAD_PLATFORM_MAX_CHARS: usize = 32;
/// Maximum length of the rest in a resident's thread key, in characters.
const THREAD_REST_MAX_CHARS: usize = 128;
/// Maximum length of a path in a thread's tree, in characters.
const TREE_PATH_MAX_CHARS: usize = 512;
/// Maximum length of a command name in the command table, in characters.
const COMMAND_NAME_MAX_CHARS: usize = 32;
/// Maximum length of a command in the command table, in characters.
const COMMAND_MAX_CHARS: usize = 2_000;
/// Maximum length of an `/exec` command in characters.
const EXEC_COMMAND_MAX_CHARS: usize = 64_000;
/// Maximum length of an environment variable name in characters.
const ENV_NAME_MAX_CHARS: usize = 128;
/// Maximum length of a stored backup's id in characters.
const BACKUP_ID_MAX_CHARS: usize = 128;
/// Hexadecimal digits in a commit.
const SHA_DIGITS: usize = 40;
/// Hexadecimal digits in a lockfile key.
const KEY_DIGITS: usize = 64;
/// Starts the rest of a thread key that stands for a digest.
const DIGEST_MARK: &str = "h.";
/// Prefix of the service's branches.
const OWN_BRANCHES: &str = "ars/";

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $what:literal, $rule:literal, $valid:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $type(String);

        impl $type {
            #[doc = concat!("Parses a ", $what, ": it must ", $rule, ".")]
            pub fn parse(text: impl Into<String>) -> Result<Self, InvalidName> {
                let text = text.into();
                let valid: fn(&str) -> bool = $valid;
                if valid(&text) { Ok(Self(text)) } else { Err(InvalidName { what: $what, rule: $rule }) }
            }

            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::parse(String::deserialize(deserializer)?).map_err(D::Error::custom)
            }
        }
    };
}

name!(
    /// A resident's id: `repo:<owner>/<name>` in lower case, at most 63 characters.
    Resource,
    "resource",
    "be `repo:owner/name` in lower case, at most 63 characters",
    |text| text.len() <= RESOURCE_MAX_CHARS
        && text.strip_prefix("repo:").is_some_and(|slug| RepoSlug::parse(slug).is_ok())
);

name!(
    /// A thread's key in a resident: `^[a-z]{1,32}:[A-Za-z0-9._:-]{1,128}$`.
    StrictThreadKey,
    "threadKey",
    "match `^[a-z]{1,32}:[A-Za-z0-9._:-]{1,128}$`",
    |text| text.split_once(':').is_some_and(|(platform, rest)| {
        (1..=THREAD_PLATFORM_MAX_CHARS).contains(&platform.len())
            && platform.bytes().all(|b| b.is_ascii_lowercase())
            && (1..=THREAD_REST_MAX_CHARS).contains(&rest.len())
            && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b"._:-".contains(&b))
    })
);

name!(
    /// A commit's full id: 40 hexadecimal digits in lower case.
    Sha,
    "sha",
    "be 40 hexadecimal digits in lower case",
    |text| text.len() == SHA_DIGITS && is_lower_hex(text)
);

name!(
    /// A run's branch: `ars/<run id>`, with or without words behind it. Pushes reach no other
    /// branch.
    RunBranch,
    "branch",
    "be a ref that begins with `ars/` and the id of a run",
    |text| StrictRefName::parse(text).is_ok()
        && text
            .strip_prefix(OWN_BRANCHES)
            .is_some_and(|rest| RunId::parse(rest.split('/').next().unwrap_or(rest)).is_ok())
);

name!(
    /// Digest over the committed lockfile listing: 64 hexadecimal digits in lower case.
    LockfileKey,
    "lockfile key",
    "be 64 hexadecimal digits in lower case",
    |text| text.len() == KEY_DIGITS && is_lower_hex(text)
);

name!(
    /// Path in a thread's tree, relative to it or absolute.
    TreePath,
    "path",
    "be 1 to 512 of letters, digits, `.`, `_`, `/` and `-`, without a `..` part",
    |text| (1..=TREE_PATH_MAX_CHARS).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._/-".contains(&b))
        && text.split('/').all(|part| part != "..")
);

name!(
    /// A command's name in the command table: `^[a-z][a-z0-9-]{0,31}$`.
    CommandName,
    "command name",
    "match `^[a-z][a-z0-9-]{0,31}$`",
    |text| (1..=COMMAND_NAME_MAX_CHARS).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
);

name!(
    /// A command in the command table, from the administrator who onboarded the repository.
    TableCommand,
    "command",
    "be 1 to 2000 characters without NUL",
    |text| (1..=COMMAND_MAX_CHARS).contains(&text.chars().count()) && !text.contains('\0')
);

name!(
    /// An `/exec` command. It runs as the thread's pool user only.
    ExecCommand,
    "command",
    "be 1 to 64000 characters without NUL",
    |text| (1..=EXEC_COMMAND_MAX_CHARS).contains(&text.chars().count()) && !text.contains('\0')
);

name!(
    /// An injected environment variable's name: `^[A-Z_][A-Z0-9_]*$`.
    EnvName,
    "environment name",
    "match `^[A-Z_][A-Z0-9_]*$`, at most 128",
    |text| (1..=ENV_NAME_MAX_CHARS).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
);

name!(
    /// A stored backup's id: letters, digits, `-` and `_`.
    BackupId,
    "backup id",
    "be 1 to 128 letters, digits, `-` or `_`",
    |text| (1..=BACKUP_ID_MAX_CHARS).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
);

name!(
    /// A single start of a container. Its disk lives as long.
    RuntimeId,
    "runtime id",
    "be 1 to 128 letters, digits, `-` or `_`",
    |text| (1..=BACKUP_ID_MAX_CHARS).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
);

name!(
    /// A namespace for thread keys with the colon, such as `load:`.
    KeyNamespace,
    "prefix",
    "be a whole thread-key namespace such as `load:`",
    |text| text.split_once(':').is_some_and(|(platform, rest)| {
        (1..=THREAD_PLATFORM_MAX_CHARS).contains(&platform.len())
            && platform.bytes().all(|b| b.is_ascii_lowercase())
            && rest.len() <= THREAD_REST_MAX_CHARS
            && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b"._:-".contains(&b))
    })
);

impl KeyNamespace {
    /// Returns whether real threads have keys in the namespace, which no purge may remove.
    pub fn is_production(&self) -> bool {
        Platform::split(&self.0).is_some_and(|(platform, _)| platform.rules().channels.is_some())
    }
}

impl Resource {
    /// Returns a repository's resource, or an error if the id would be too long.
    pub fn for_repo(slug: &RepoSlug) -> Result<Self, InvalidName> {
        Self::parse(format!("repo:{slug}"))
    }

    /// Returns the slug `owner/name`.
    pub fn slug(&self) -> &str {
        self.0.strip_prefix("repo:").unwrap_or(&self.0)
    }
}

impl StrictThreadKey {
    /// Maps the bot's thread key, which is opaque text, to the strict form.
    ///
    /// A key that already has the form is kept. Any other key, and any that resembles a digest,
    /// becomes `<platform>:h.<sha256>`, so that two threads never share a tree.
    pub fn from_thread_key(key: &ThreadKey) -> Self {
        let text = key.as_str();
        let rest = text.split_once(':').map_or(text, |(_, rest)| rest);
        if let Ok(strict) = Self::parse(text)
            && !rest.starts_with(DIGEST_MARK)
        {
            return strict;
        }
        let platform: String = text
            .chars()
            .take_while(char::is_ascii_lowercase)
            .take(THREAD_PLATFORM_MAX_CHARS)
            .collect();
        let platform = if platform.is_empty() {
            "thread"
        } else {
            &platform
        };
        Self(format!(
            "{platform}:{DIGEST_MARK}{}",
            hex(&Sha256::digest(text))
        ))
    }
}

impl TreePath {
    /// Resolves the path in a thread's tree. Returns `None` for an absolute path outside it.
    pub fn within(&self, tree: &str) -> Option<String> {
        if !self.0.starts_with('/') {
            return Some(format!("{tree}/{}", self.0));
        }
        let rest = self.0.strip_prefix(tree)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| self.0.clone())
    }
}

impl LockfileKey {
    /// Returns the key for a committed lockfile listing. An empty listing has a key too.
    pub fn of_listing(listing: &str) -> Self {
        Self(hex(&Sha256::digest(listing)))
    }

    /// Returns the key for dependencies that a single commit's programs installed. For trees at
    /// that commit only.
    pub fn at_commit(&self, sha: &Sha) -> Self {
        Self(hex(&Sha256::digest(format!("{self} {sha}"))))
    }
}

/// Returns bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn is_lower_hex(text: &str) -> bool {
    text.bytes()
        .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn resources_are_short_lower_case_slugs() {
        assert_eq!(Resource::parse("repo:acme/app").unwrap().slug(), "acme/app");
        let long = format!("repo:a/{}", "b".repeat(57));
        for bad in [
            "",
            "acme/app",
            "repo:",
            "repo:acme",
            "repo:Acme/app",
            "org:acme/app",
            "repo:a/../b",
            "repo:-a/b",
            &long,
        ] {
            assert!(Resource::parse(bad).is_err(), "{bad}");
        }
        assert!(Resource::parse(&long[..63]).is_ok());
    }

    #[test]
    fn thread_keys_follow_the_strict_pattern() {
        for good in ["http:default:mine", "load:run-1:0", "slack:C1:1.2"] {
            assert!(StrictThreadKey::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "", "http", "http:", "Http:a", ":a", "http:a b", "http:a/b", "http:é", "http:a\n",
        ] {
            assert!(StrictThreadKey::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        /// Two different bot keys never share a tree, even if either imitates the other's digest.
        #[test]
        fn mapped_keys_are_valid_and_distinct(a in "[a-zA-Z0-9]{0,3}:\\PC{1,12}", b in "[a-z]{1,3}:[a-z. ]{1,3}") {
            let [a, b] = [a, b].map(|text| ThreadKey::from_text(&text));
            for key in [&a, &b].into_iter().flatten() {
                let strict = StrictThreadKey::from_thread_key(key);
                prop_assert!(StrictThreadKey::parse(strict.as_str()).is_ok());
                let imitation = ThreadKey::from_text(strict.as_str()).unwrap();
                prop_assert!(imitation == *key || StrictThreadKey::from_thread_key(&imitation) != strict);
            }
            if a != b && a.is_some() && b.is_some() {
                prop_assert_ne!(a.as_ref().map(StrictThreadKey::from_thread_key), b.as_ref().map(StrictThreadKey::from_thread_key));
            }
        }

        #[test]
        fn resolved_paths_stay_inside(text in "[a-z./_-]{0,20}") {
            if let Ok(path) = TreePath::parse(text) && let Some(full) = path.within("/w/t") {
                prop_assert!(full.starts_with("/w/t") && !full.split('/').any(|part| part == ".."));
            }
        }
    }

    #[test]
    fn paths_outside_the_tree_are_rejected() {
        for bad in [
            "",
            "../x",
            "a/../b",
            "a b",
            "$HOME",
            "a\0",
            "é",
            &"x".repeat(513),
        ] {
            assert!(TreePath::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(
            TreePath::parse("/w/tree2/x").unwrap().within("/w/tree"),
            None
        );
        assert_eq!(
            TreePath::parse("/w/tree/x")
                .unwrap()
                .within("/w/tree")
                .as_deref(),
            Some("/w/tree/x")
        );
    }

    #[test]
    fn hostile_names_are_rejected() {
        for bad in ["", "Test", "test;rm", "-x", "test\n", &"x".repeat(33)] {
            assert!(CommandName::parse(bad).is_err(), "{bad:?}");
        }
        for bad in ["", "path", "1A", "A B", "LD-PRELOAD", "A=B"] {
            assert!(EnvName::parse(bad).is_err(), "{bad:?}");
        }
        for bad in ["abc", &"A".repeat(40), &"0".repeat(41), "main"] {
            assert!(Sha::parse(bad).is_err(), "{bad:?}");
        }
        assert!(ExecCommand::parse("x".repeat(64_001)).is_err() && ExecCommand::parse("").is_err());
    }

    #[test]
    fn production_namespaces_are_recognised() {
        assert!(!KeyNamespace::parse("load:").unwrap().is_production());
        for real in [
            "http:default",
            "github:acme",
            "schedule:",
            "slack:",
            "mcp:",
            "cli:",
        ] {
            assert!(KeyNamespace::parse(real).unwrap().is_production(), "{real}");
        }
        for bad in ["", "load", "l", "Load:"] {
            assert!(KeyNamespace::parse(bad).is_err(), "{bad}");
        }
    }
}
