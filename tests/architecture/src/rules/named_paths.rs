//! Paths in documents exist: a path in backticks or in a link leads to a file in the tree.
//!
//! In backticks the beginning of a path may be omitted if the rest is unique enough
//! (`run/driver.rs`). Not here: code blocks, and paths with a placeholder.

use std::path::{Component, Path};

use crate::{File, Tree, Violation, at};

/// Path endings that are checked.
const ENDINGS: [&str; 4] = [".rs", ".toml", ".md", ".js"];
/// Characters in paths that stand for many files, or for a file outside the tree.
const OTHERWISE: [char; 8] = ['<', '{', '*', '$', '~', '…', ':', ' '];

/// Reports paths in documents that do not exist.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let documents = tree.with_path(|path| {
        path == "README.md" || (path.starts_with("docs/") && path.ends_with(".md"))
    });
    documents
        .flat_map(|document| broken(tree, document))
        .collect()
}

fn broken(tree: &Tree, document: &File) -> Vec<Violation> {
    let (mut found, mut is_block) = (Vec::new(), false);
    for (index, line) in document.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_block = !is_block;
        }
        if is_block {
            continue;
        }
        let quoted = line
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|path| path.contains('/') && is_path(path));
        let quoted = quoted.filter(|path| !is_end_of_one(tree, path));
        let linked = line
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', '#']).next());
        let linked = linked.filter(|path| is_path(path) && !is_linked(tree, &document.path, path));
        let broken = quoted
            .chain(linked)
            .map(|path| at(&document.path, index + 1, format!("no file is {path}")));
        found.extend(broken);
    }
    found
}

fn is_path(text: &str) -> bool {
    ENDINGS.iter().any(|ending| text.ends_with(ending))
        && !text.starts_with('/')
        && !text.contains(OTHERWISE)
}

fn is_end_of_one(tree: &Tree, path: &str) -> bool {
    tree.files.iter().any(|file| {
        file.path
            .strip_suffix(path)
            .is_some_and(|before| before.is_empty() || before.ends_with('/'))
    })
}

fn is_linked(tree: &Tree, from: &str, link: &str) -> bool {
    let mut parts: Vec<_> = Path::new(from)
        .parent()
        .into_iter()
        .flat_map(Path::components)
        .collect();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::CurDir => {}
            part => parts.push(part),
        }
    }
    let path: std::path::PathBuf = parts.iter().collect();
    tree.files.iter().any(|file| Path::new(&file.path) == path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    fn broken_in(text: &str) -> usize {
        let files = [
            ("docs/a.md", text),
            ("core/src/run/driver.rs", "//! Drives."),
            ("docs/deeper/b.md", ""),
        ];
        check(&planted(&files)).len()
    }

    #[test]
    fn missing_path_is_reported() {
        for text in [
            "`core/src/run/diver.rs`",
            "`un/driver.rs`",
            "one `core/src/run/driver.rs`, two `run/gone.rs`",
            "[b](b.md)",
            "[b](core/src/run/driver.rs)",
        ] {
            assert_eq!(broken_in(text), 1, "{text}");
        }
    }

    #[test]
    fn existing_path_is_accepted() {
        for text in [
            "`core/src/run/driver.rs`, `run/driver.rs`",
            "[b](deeper/b.md#part), [c](../core/src/run/driver.rs)",
            "`<slug>/SKILL.md`, `/etc/x/y.toml`, `~/.x/y.toml`, `run/driver`",
            "```sh\ncat `x/gone.rs`\n```",
            "[elsewhere](https://one.example/gone.md)",
        ] {
            assert_eq!(broken_in(text), 0, "{text}");
        }
    }
}
