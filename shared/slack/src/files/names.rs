//! File names that suggest credentials (docs/reference/slack.md#files).
//!
//! The list fails closed: case, invisible characters, trailing dots and blanks, the suffixes of copies and backups,
//! and the counters of browsers (`credentials (1).json`) do not help a name past it.

use ars_types::is_invisible;

/// Extensions of keys and of configuration that often has passwords.
const EXTENSIONS: [&str; 10] = [
    "pem", "key", "p12", "pfx", "npmrc", "netrc", "ini", "cfg", "conf", "env",
];
/// Extensions that copies and backups add to a name.
const COPY_EXTENSIONS: [&str; 9] = [
    "txt", "text", "bak", "backup", "old", "orig", "save", "copy", "swp",
];
/// File of environment variables.
const ENV: &str = ".env";

/// Returns whether a file with this name stays out of every prompt.
pub fn is_denied(name: &str) -> bool {
    let name = normalized(name);
    let mut name = name.as_str();
    loop {
        if is_listed(name) {
            return true;
        }
        match name.rsplit_once('.') {
            Some((stem, extension)) if is_copy(extension) => name = trimmed(stem),
            _ => return false,
        }
    }
}

/// Returns the extension in lower case, or an empty text.
pub(super) fn extension(name: &str) -> String {
    let name = normalized(name);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    extension.unwrap_or_default().to_owned()
}

fn is_listed(name: &str) -> bool {
    let stem = |extension| name.strip_suffix(extension).map(without_counter);
    let is_json = stem(".json").is_some_and(|stem| {
        stem == "credentials" || stem.contains("service-account") || stem.ends_with("-key")
    });
    let is_extension = name
        .rsplit_once('.')
        .is_some_and(|(_, extension)| EXTENSIONS.contains(&without_counter(extension)));
    is_json || is_extension || name.starts_with("id_rsa") || has_env(name)
}

/// Returns whether a name has `.env` as a part: `.env.local`, `prod.env`, `app.env.txt`, `.envrc`.
fn has_env(name: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric());
    let mut parts = name.match_indices(ENV);
    name.starts_with(ENV) || parts.any(|(at, _)| ends(&name[at + ENV.len()..]))
}

fn is_copy(extension: &str) -> bool {
    let is_number = !extension.is_empty() && extension.bytes().all(|byte| byte.is_ascii_digit());
    is_number || COPY_EXTENSIONS.contains(&without_counter(extension))
}

/// Returns the last part of a path in lower case, without invisible characters and trailing dots.
fn normalized(name: &str) -> String {
    let is_visible = |c: &char| {
        // A joiner in a name hides it from the list as well.
        !c.is_control() && !is_invisible(*c) && !matches!(c, '\u{200c}' | '\u{200d}')
    };
    let visible: String = name.chars().filter(is_visible).collect();
    let visible = trimmed(&visible);
    let last = visible.rsplit(['/', '\\']).next().unwrap_or(visible);
    trimmed(last).to_lowercase()
}

fn trimmed(name: &str) -> &str {
    let is_end = |c: char| c.is_whitespace() || c == '.' || c == '~';
    name.trim_start().trim_end_matches(is_end)
}

/// Removes a counter such as ` (1)`.
fn without_counter(name: &str) -> &str {
    let Some((stem, counter)) = name.rsplit_once('(') else {
        return name;
    };
    let number = counter.strip_suffix(')').unwrap_or_default();
    let is_counter = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if is_counter { stem.trim_end() } else { name }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn credential_like_names_are_denied() {
        for name in [
            ".env",
            ".env.local",
            ".ENV",
            "prod.env",
            "app.env.txt",
            ".envrc",
            ".env-prod",
            "x.env_old",
            ".env (1)",
            "dir/.env",
            "dir\\.env",
            ".env. . ",
            ".e\u{200b}nv",
            ".env~",
            "id_rsa",
            "id_rsa.pub",
            "ID_RSA_work.txt",
            "credentials.json",
            "Credentials (2).JSON",
            "credentials.json.txt",
            "my-service-account-1.json",
            "service-account.json.bak",
            "gcp-key.json",
            "a.pem",
            "a.PEM ",
            "a.key.",
            "a.p12",
            "a.pfx",
            ".npmrc",
            "x.netrc",
            "php.ini",
            "a.cfg",
            "nginx.conf",
            "nginx.conf.1",
            "server.key.bak.txt",
            "server (1).key",
            "server.key (1)",
        ] {
            assert!(is_denied(name), "{name}");
        }
        for name in [
            "",
            ".",
            "environment.md",
            "env",
            "env.rs",
            "my.envelope.txt",
            "keys.md",
            "key.txt",
            "monkey",
            "a.keynote",
            "credentials.md",
            "my-credentials.json",
            "service-account.md",
            "karma.conf.js",
            "a.config",
            "rsa_id.txt",
            "notes (1).txt",
            "notes.txt",
        ] {
            assert!(!is_denied(name), "{name}");
        }
    }

    #[test]
    fn extension_is_the_last_part() {
        for (name, expected) in [
            ("a.TXT", "txt"),
            ("a.b.rs ", "rs"),
            ("dir.d/a", ""),
            ("a", ""),
            (".md", "md"),
        ] {
            assert_eq!(extension(name), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn denied_name_stays_denied_in_disguise(
            name in "(\\.env|id_rsa|[a-z]{1,5}\\.(pem|key|ini)|credentials\\.json)", upper in any::<bool>(),
            path in "([a-z]{1,4}/)?", end in "[. ~]{0,3}(\\.(txt|bak|[0-9]))?[. ]{0,2}"
        ) {
            let name = if upper { name.to_uppercase() } else { name };
            let disguised = format!("{path}{name}{end}");
            prop_assert!(is_denied(&disguised), "{}", disguised);
        }

        #[test]
        fn any_name_is_decided(name in "[.()0-9a-z~ /]{0,12}|\\PC*") {
            is_denied(&name);
            extension(&name);
        }
    }
}
