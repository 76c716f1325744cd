//! Names that commands accept, each with a rule and a pattern.

use ars_types::{ModelRef, RUN_ID_MAX, RepoSlug, RunId, STRICT_REF_MAX, StrictRefName};

/// A kind of name.
#[derive(Debug, Clone, Copy)]
pub struct Name {
    /// Placeholder in help, such as `RUN`.
    pub placeholder: &'static str,
    /// How a valid name looks, phrased to follow "must".
    pub rule: &'static str,
    /// Regular expression for schemas, in the JSON Schema dialect. It accepts every valid name.
    pub pattern: &'static str,
    /// Maximum length in characters.
    pub max: usize,
    /// Returns the normalized name, or `None` if it is invalid.
    pub parse: fn(&str) -> Option<String>,
}

/// Names are equal if they have the same rule: a function has no useful equality.
impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.rule == other.rule && self.pattern == other.pattern
    }
}

/// Maximum length of a repository in characters: owner, slash, name, suffix.
const REPOSITORY_MAX: usize = 144;
/// Maximum length of an agent name in characters.
const AGENT_MAX: usize = 64;
/// Maximum length of a channel id in characters.
const CHANNEL_MAX: usize = 200;
/// Maximum length of a memory record id in characters: prefix, scope key, number.
const MEMORY_ID_MAX: usize = 230;
/// Maximum length of a model name in characters.
const MODEL_MAX: usize = 200;
/// Repository suffix that a clone URL may have.
const GIT_SUFFIX: &str = ".git";

/// A run id.
pub const RUN: Name = Name {
    placeholder: "RUN",
    rule: RunId::RULE,
    pattern: "^[A-Za-z0-9_-]{1,64}$",
    max: RUN_ID_MAX,
    parse: |text| RunId::parse(text).ok().map(|id| id.to_string()),
};

/// Repository, with or without `.git`, in any case.
pub const REPOSITORY: Name = Name {
    placeholder: "OWNER/NAME",
    rule: "be `owner/name`",
    pattern: "^[A-Za-z0-9]([A-Za-z0-9-]{0,37}[A-Za-z0-9])?/(?!.*[._-]\\.[Gg][Ii][Tt]$)\
              [A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$",
    max: REPOSITORY_MAX,
    parse: |text| {
        let lower = text.to_ascii_lowercase();
        let slug = lower.strip_suffix(GIT_SUFFIX).unwrap_or(&lower);
        RepoSlug::parse(slug).ok().map(|slug| slug.to_string())
    },
};

/// Branch, tag or commit.
pub const BRANCH: Name = Name {
    placeholder: "REF",
    rule: "start with a letter or digit and hold only letters, digits, `.`, `_`, `/` or `-`, at most 200",
    pattern: "^(?!.*(\\.\\.|\\.lock))[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$",
    max: STRICT_REF_MAX,
    parse: |text| StrictRefName::parse(text).ok().map(|name| name.to_string()),
};

/// A model, as `provider/model`.
pub const MODEL: Name = Name {
    placeholder: "PROVIDER/MODEL",
    rule: "be `provider/model`, at most 200 characters",
    // U+0085 is white space in Unicode and not in the pattern's dialect.
    pattern: "^[^/\\s\\u0085]+/[^\\s\\u0085]+$",
    max: MODEL_MAX,
    parse: |text| {
        let is_short = text.chars().count() <= MODEL_MAX;
        ModelRef::parse(text)
            .ok()
            .filter(|_| is_short)
            .map(|model| model.to_string())
    },
};

/// An agent's name.
pub const AGENT: Name = Name {
    placeholder: "AGENT",
    rule: "be 1 to 64 lower case letters, digits, `_` or `-`",
    pattern: "^[a-z0-9_-]{1,64}$",
    max: AGENT_MAX,
    parse: |text| {
        let is_name = (1..=AGENT_MAX).contains(&text.len())
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b));
        is_name.then(|| text.to_owned())
    },
};

/// A channel id with the namespace.
pub const CHANNEL: Name = Name {
    placeholder: "CHANNEL",
    rule: "be `<platform>:<channel>`, at most 200 characters without control characters",
    pattern: "^[a-z]+:[^\\u0000-\\u001f\\u007f-\\u009f]{1,198}$",
    max: CHANNEL_MAX,
    parse: |text| {
        let (platform, channel) = text.split_once(':')?;
        let is_id = !platform.is_empty()
            && platform.bytes().all(|b| b.is_ascii_lowercase())
            && !channel.is_empty()
            && text.chars().count() <= CHANNEL_MAX
            && !channel.contains(char::is_control);
        is_id.then(|| text.to_owned())
    },
};

/// A memory record id.
pub const MEMORY: Name = Name {
    placeholder: "ID",
    rule: "be `mem:<scope key>:<number>`",
    pattern: "^mem:\\S{1,200}:[0-9]{1,19}$",
    max: MEMORY_ID_MAX,
    parse: |text| {
        let (scope, number) = text.strip_prefix("mem:")?.rsplit_once(':')?;
        let is_id = ars_types::StoreKey::parse(scope).is_ok()
            && (1..=19).contains(&number.len())
            && number.bytes().all(|b| b.is_ascii_digit())
            && text.chars().count() <= MEMORY_ID_MAX;
        is_id.then(|| text.to_owned())
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_their_rules() {
        for (name, good, bad) in [
            (&RUN, vec!["r-1", "A_b"], vec!["", "a b", "a/b"]),
            (
                &REPOSITORY,
                vec!["acme/app", "Acme/App.git"],
                vec!["acme", "acme/", "../x", "a/b/c"],
            ),
            (&BRANCH, vec!["main", "a/b"], vec!["", "-x", "a..b", "a b"]),
            (&MODEL, vec!["a/b", "a/b/c"], vec!["a", "/", ""]),
            (&AGENT, vec!["coding", "a-b_1"], vec!["", "Coding", "a b"]),
            (
                &CHANNEL,
                vec!["http:ops", "slack:C1", "http:a b"],
                vec!["", "ops", ":x", "Http:x", "http:", "http:a\n"],
            ),
            (
                &MEMORY,
                vec!["mem:org:acme:0", "mem:user:slack:U1:12"],
                vec![
                    "",
                    "mem:x",
                    "mem:org:a b:1",
                    "mem:org:acme:x",
                    "mem:org:acme:",
                ],
            ),
        ] {
            for text in good {
                assert!((name.parse)(text).is_some(), "{} {text}", name.placeholder);
            }
            for text in bad {
                assert_eq!((name.parse)(text), None, "{} {text}", name.placeholder);
            }
        }
    }

    #[test]
    fn repository_is_normalized() {
        assert_eq!(
            (REPOSITORY.parse)("Acme/App.git").as_deref(),
            Some("acme/app")
        );
    }
}
