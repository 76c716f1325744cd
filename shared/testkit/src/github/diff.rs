//! Real git diffs as the host lists them.

use std::path::Path;

use serde_json::{Value, json};

use super::git::try_git;

/// A file that the diff changes.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) path: String,
    previous: Option<String>,
    status: &'static str,
    patch: Option<String>,
}

/// Returns the diff since the merge base, as git prints it.
pub(super) fn unified(path: &Path, base: &str, head: &str) -> String {
    try_git(
        path,
        &[
            "diff",
            "--no-color",
            "--find-renames",
            &format!("{base}...{head}"),
        ],
    )
    .unwrap_or_default()
}

/// Returns the changed files since the merge base.
pub(super) fn files(path: &Path, base: &str, head: &str) -> Vec<File> {
    let diff = format!("\n{}", unified(path, base, head));
    diff.split("\ndiff --git ").skip(1).map(file).collect()
}

fn file(section: &str) -> File {
    let (head, patch) = match section.find("\n@@ ") {
        Some(at) => (
            &section[..at],
            Some(section[at + 1..].trim_end_matches('\n').to_owned()),
        ),
        None => (section, None),
    };
    let field = |start: &str| {
        head.lines()
            .find_map(|line| line.strip_prefix(start))
            .map(str::to_owned)
    };
    let both = head.lines().next().unwrap_or_default();
    let path = field("rename to ")
        .or_else(|| field("+++ b/"))
        .or_else(|| field("--- a/"))
        .or_else(|| both.split_once(" b/").map(|pair| pair.1.to_owned()))
        .unwrap_or_default();
    let status = match () {
        () if head.contains("\nnew file mode") => "added",
        () if head.contains("\ndeleted file mode") => "removed",
        () if head.contains("\nrename to ") => "renamed",
        () => "modified",
    };
    File {
        path: path.trim_end_matches('\t').to_owned(),
        previous: field("rename from "),
        status,
        patch,
    }
}

impl File {
    fn count(&self, mark: char) -> usize {
        self.patch
            .iter()
            .flat_map(|patch| patch.lines())
            .filter(|line| line.starts_with(mark))
            .count()
    }

    pub(super) fn to_json(&self) -> Value {
        let (additions, deletions) = (self.count('+'), self.count('-'));
        let mut json = json!({
            "sha": "0".repeat(40), "filename": self.path, "status": self.status, "additions": additions,
            "deletions": deletions, "changes": additions + deletions, "blob_url": "https://h.test/b",
            "raw_url": "https://h.test/r", "contents_url": "https://h.test/c",
        });
        if let Some(patch) = &self.patch {
            json["patch"] = patch.as_str().into();
        }
        if let Some(previous) = &self.previous {
            json["previous_filename"] = previous.as_str().into();
        }
        json
    }

    /// Returns whether the diff shows this line on this side.
    pub(super) fn shows(&self, line: u64, side: &str) -> bool {
        let (mut old, mut new) = (0, 0);
        for text in self.patch.iter().flat_map(|patch| patch.lines()) {
            let mark = text.chars().next().unwrap_or(' ');
            match mark {
                '@' => (old, new) = starts(text),
                '\\' => {}
                '-' => {
                    if side == "LEFT" && old == line {
                        return true;
                    }
                    old += 1;
                }
                _ => {
                    if side == "RIGHT" && new == line {
                        return true;
                    }
                    new += 1;
                    old += u64::from(mark != '+');
                }
            }
        }
        false
    }
}

/// Reads the first lines in `@@ -1,2 +3,4 @@`.
fn starts(header: &str) -> (u64, u64) {
    let first = |sign: char| {
        let range = header
            .split(' ')
            .find_map(|part| part.strip_prefix(sign))
            .unwrap_or_default();
        range
            .split(',')
            .next()
            .and_then(|number| number.parse().ok())
            .unwrap_or(0)
    };
    (first('-'), first('+'))
}
