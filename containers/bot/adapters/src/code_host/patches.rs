//! Builds a pull request's unified diff from the patches that the host lists file by file.
//!
//! Not here: the requests (`files`).

use ars_bot_ports::code_host::{BoundedText, ChangedFile, ChangedFiles};

/// Stands for the missing side when a file was added or removed.
const NO_FILE: &str = "/dev/null";
/// Replaces a patch that the host leaves out.
const NOT_SHOWN: &str = "[… the code host does not show the changes of this file …]";

/// Joins file patches, cut after a whole line. The result is truncated if a file or a file's patch
/// is missing.
pub(super) fn joined(changed: &ChangedFiles, max_bytes: usize) -> BoundedText {
    let mut text = String::new();
    let mut truncated = changed.truncated;
    for file in &changed.files {
        truncated |= is_left_out(file);
        text.push_str(&section(file));
        if text.len() > max_bytes {
            let last_line = text.as_bytes()[..max_bytes]
                .iter()
                .rposition(|byte| *byte == b'\n');
            text.truncate(last_line.map_or(0, |end| end + 1));
            return BoundedText {
                text,
                truncated: true,
            };
        }
    }
    BoundedText { text, truncated }
}

/// Returns whether the host counts changed lines and shows none. A binary or renamed file has none.
const fn is_left_out(file: &ChangedFile) -> bool {
    file.patch.is_none() && (file.additions > 0 || file.deletions > 0)
}

/// Returns a single file's diff section, as git writes it without modes and hashes.
fn section(file: &ChangedFile) -> String {
    let ChangedFile {
        path,
        status,
        previous_path,
        patch,
        ..
    } = file;
    let before = quoted("a/", previous_path.as_ref().unwrap_or(path));
    let after = quoted("b/", path);
    let mut text = format!("diff --git {before} {after}\n");
    if let Some(previous) = previous_path.as_ref().filter(|_| status == "renamed") {
        text.push_str(&format!(
            "rename from {}\nrename to {}\n",
            quoted("", previous),
            quoted("", path)
        ));
    }
    let before = if status == "added" {
        NO_FILE
    } else {
        before.as_str()
    };
    let after = if status == "removed" {
        NO_FILE
    } else {
        after.as_str()
    };
    match patch {
        Some(patch) => {
            let lines = patch.trim_end_matches('\n');
            text.push_str(&format!("--- {before}\n+++ {after}\n{lines}\n"));
        }
        None if is_left_out(file) => text.push_str(&format!("{NOT_SHOWN}\n")),
        None => {}
    }
    text
}

/// Returns a path after the side prefix. Git quotes such paths too, so no file name can add a line.
fn quoted(side: &str, path: &str) -> String {
    let shown = format!("{side}{path}");
    let is_special = |char: char| char.is_control() || matches!(char, '"' | '\\');
    if shown.contains(is_special) {
        format!("{shown:?}")
    } else {
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(status: &str, path: &str, patch: Option<&str>) -> ChangedFile {
        ChangedFile {
            path: path.into(),
            status: status.into(),
            previous_path: (status == "renamed").then(|| "old".into()),
            additions: 1,
            deletions: 0,
            patch: patch.map(str::to_owned),
        }
    }

    #[test]
    fn sections_are_those_of_git() {
        let files = vec![
            file("added", "new", Some("@@ -0,0 +1 @@\n+x")),
            file("removed", "gone", Some("@@ -1 +0,0 @@\n-x")),
            file("renamed", "moved", Some("@@ -1 +1,2 @@\n x\n+y")),
            ChangedFile {
                additions: 0,
                ..file("modified", "a\n+++ b", None)
            },
        ];
        let whole = joined(
            &ChangedFiles {
                files,
                truncated: false,
            },
            1_000,
        );
        let expected = "diff --git a/new b/new\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n\
            diff --git a/gone b/gone\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
            diff --git a/old b/moved\nrename from old\nrename to moved\n--- a/old\n+++ b/moved\n\
            @@ -1 +1,2 @@\n x\n+y\n\
            diff --git \"a/a\\n+++ b\" \"b/a\\n+++ b\"\n";
        assert_eq!((whole.text.as_str(), whole.truncated), (expected, false));
    }

    #[test]
    fn missing_part_is_marked() {
        let shown = || file("added", "é", Some("@@ -0,0 +1 @@\n+é"));
        let of = |files, truncated, max| joined(&ChangedFiles { files, truncated }, max);
        assert!(!of(vec![shown()], false, 1_000).truncated);
        assert!(
            of(vec![shown()], true, 1_000).truncated,
            "more files were changed"
        );
        let left_out = of(vec![file("modified", "huge", None), shown()], false, 1_000);
        assert!(
            left_out.truncated
                && left_out.text.contains("does not show")
                && left_out.text.contains("+é")
        );
        let cut = of(vec![shown(), shown()], false, 62);
        assert!(
            cut.truncated && cut.text.ends_with('\n') && cut.text.len() <= 62,
            "{}",
            cut.text
        );
    }
}
