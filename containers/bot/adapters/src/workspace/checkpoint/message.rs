//! A checkpoint commit's message: everything a restore needs beside the files.
//!
//! Branch names come from the tree, so each is parsed.

use ars_types::is_ref_name;

/// Prefix in front of a branch name.
const HEADS: &str = "refs/heads/";
/// Ref that holds the stashes.
const STASH: &str = "refs/stash";

/// A repository's state beside the files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Heads {
    /// The `HEAD` commit, or `None` before a first commit.
    pub(super) head: Option<String>,
    /// The `HEAD` branch, as a full name.
    pub(super) branch: Option<String>,
    /// Commits on other branches and stashes, each with the full ref name. The oldest stash is
    /// first.
    pub(super) tips: Vec<(String, String)>,
}

impl Heads {
    /// Parses a commit in the `git cat-file commit` form.
    pub(super) fn parse(commit: &str) -> Self {
        let mut found = Self::default();
        let body = commit.split_once("\n\n").map_or("", |(_, body)| body);
        for line in body.lines() {
            let mut words = line.split(' ');
            match (words.next(), words.next(), words.next(), words.next()) {
                (Some("head"), Some(commit), at, name) => {
                    found.head = is_commit(commit).then(|| commit.to_owned());
                    found.branch = name.filter(|_| at == Some("ref:")).and_then(branch);
                }
                (Some("tip"), Some(commit), Some(name), None) if is_commit(commit) => {
                    let name = if name == STASH {
                        Some(STASH.to_owned())
                    } else {
                        branch(name)
                    };
                    found
                        .tips
                        .extend(name.map(|name| (commit.to_owned(), name)));
                }
                _ => {}
            }
        }
        // The stashes' ref is the newest stash, which the log has last.
        let (mut stashes, mut tips): (Vec<_>, Vec<_>) =
            found.tips.into_iter().partition(|(_, name)| name == STASH);
        if stashes.len() > 1 {
            stashes.rotate_left(1);
        }
        tips.extend(stashes);
        found.tips = tips;
        found
    }
}

fn branch(name: &str) -> Option<String> {
    let short = name.strip_prefix(HEADS)?;
    is_ref_name(short).then(|| name.to_owned())
}

fn is_commit(word: &str) -> bool {
    word.len() >= 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_left_out() {
        let [a, b, c] = ["a", "b", "c"].map(|letter| letter.repeat(40));
        let commit = format!(
            "tree {a}\nparent {a}\n\nCheckpoint\n\nhead {a} ref: refs/heads/topic\ntip {c} refs/stash\n\
             tip {b} refs/heads/fix/#1-größe\ntip {a} refs/heads/--x\ntip {a} refs/remotes/y\ntip zz refs/heads/z\n\
             tip {b} refs/stash\n"
        );
        let found = Heads::parse(&commit);
        assert_eq!(
            (found.head, found.branch),
            (Some(a.clone()), Some("refs/heads/topic".into()))
        );
        let tips = [(&b, "refs/heads/fix/#1-größe"), (&b, STASH), (&c, STASH)];
        assert_eq!(
            found.tips,
            tips.map(|(commit, name)| (commit.clone(), name.to_owned()))
        );
        let detached = Heads::parse(&format!("tree {a}\n\nx\n\nhead {a} {a}\n"));
        assert_eq!((detached.head, detached.branch), (Some(a), None));
        assert_eq!(
            Heads::parse("tree x\n\nx\n\nhead - ref: refs/heads/--upload\n"),
            Heads::default()
        );
    }
}
