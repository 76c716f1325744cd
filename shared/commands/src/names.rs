//! Names that commands accept, each with its rule and its pattern.

use ars_types::{ModelRef, RUN_ID_MAX, RepoSlug, RunId, STRICT_REF_MAX, StrictRefName};

/// A kind of name.
#[derive(Debug, Clone, Copy)]
pub struct Name {
    /// Placeholder in help, such as `RUN`.
    pub placeholder: &'static str,
    /// Form of a valid name, phrased to follow "must".
    pub rule: &'static str,
    /// Regular expression for schemas, in the dialect of JSON Schema. It accepts every valid name.
    pub pattern: &'static str,
    /// Most characters.
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

/// Most characters of a repository: owner, slash, name, suffix.
const REPOSITORY_MAX: usize = 144;
/// Most characters of an agent's name.
const AGENT_MAX: usize = 64;
/// Most characters of a channel's id.
const CHANNEL_MAX: usize = 200;
/// Most characters of a memory record's id: prefix, scope key, number.
const MEMORY_ID_MAX: usize = 230;
/// Most characters of a model's name.
const MODEL_MAX: usize = 200;
/// Suffix of a repository that a clone URL may have.
const GIT_SUFFIX: &str = ".git";

/// Id of a run.
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

/// `provider/model`.
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

/// Name of an agent.
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

/// Namespaced channel.
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

/// Id of a memory record.
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
