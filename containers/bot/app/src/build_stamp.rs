//! Build commit and time, from the file `ARS_BUILD_STAMP` names or from compile time. A missing or
//! malformed stamp gives the commit `unknown`.

use std::{fs, path::Path, sync::LazyLock};

use ars_wire::health::Build;
use serde::Deserialize;

use crate::environment::{self, name};

/// Commit for a build without a stamp.
pub const UNKNOWN: &str = "unknown";
/// Longest commit, `-dirty` included, and longest time.
const LIMIT: usize = 64;

/// Returns this process's stamp.
pub fn build() -> &'static Build {
    static BUILD: LazyLock<Build> =
        LazyLock::new(|| match environment::variable(name::BUILD_STAMP) {
            Some(path) => stamped(Path::new(&path)),
            None => Build {
                commit: option_env!("ARS_BUILD_COMMIT")
                    .unwrap_or(UNKNOWN)
                    .to_owned(),
                built_at: option_env!("ARS_BUILT_AT").map(str::to_owned),
            },
        });
    &BUILD
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stamp {
    commit: String,
    built_at: Option<String>,
}

fn stamped(path: &Path) -> Build {
    let stamp = fs::read(path)
        .ok()
        .and_then(|text| serde_json::from_slice::<Stamp>(&text).ok());
    let stamp = stamp
        .filter(|stamp| is_plain(&stamp.commit))
        .unwrap_or_default();
    let commit = if stamp.commit.is_empty() {
        UNKNOWN.to_owned()
    } else {
        stamp.commit
    };
    Build {
        commit,
        built_at: stamp.built_at.filter(|time| is_plain(time)),
    }
}

/// Returns whether a text has only commit or time characters, because the probe shows it to all.
fn is_plain(text: &str) -> bool {
    (1..=LIMIT).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-:.+".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, Option<String>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("build.json");
        fs::write(&path, text).unwrap();
        let build = stamped(&path);
        (build.commit, build.built_at)
    }

    #[test]
    fn stamp_file_is_read() {
        let (commit, built) =
            read(r#"{"commit":"0123abc-dirty","builtAt":"2026-11-21T10:00:00Z"}"#);
        assert_eq!(
            (commit.as_str(), built.as_deref()),
            ("0123abc-dirty", Some("2026-11-21T10:00:00Z"))
        );
    }

    #[test]
    fn missing_or_malformed_stamp_is_unknown() {
        for text in [
            "",
            "{}",
            "[1]",
            r#"{"commit":7}"#,
            r#"{"commit":"<b>"}"#,
            r#"{"commit":""}"#,
        ] {
            assert_eq!(read(text), (UNKNOWN.to_owned(), None), "{text}");
        }
        assert_eq!(stamped(Path::new("/no/such/file")).commit, UNKNOWN);
    }
}
