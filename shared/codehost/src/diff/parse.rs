//! Parses unified diffs, from git and from the host's file list.

use super::file::{Change, Diff, FileDiff, Hunk, MAX_DIFF_FILES, MAX_FILE_DIFF_LINES};

/// Parses `git diff` output. Text outside files and hunks is skipped.
pub fn parse_unified(text: &str) -> Diff {
    let mut diff = Diff::default();
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        let Some(names) = line.strip_prefix("diff --git ") else {
            continue;
        };
        if diff.files.len() == MAX_DIFF_FILES {
            diff.truncated = true;
            break;
        }
        let mut path = path_of_both(names);
        let mut is_binary = false;
        while let Some(header) =
            lines.next_if(|line| !line.starts_with("@@ ") && !line.starts_with("diff --git "))
        {
            is_binary |= header.starts_with("Binary files ") || header == "GIT binary patch";
            let named = ["rename to ", "copy to "]
                .iter()
                .find_map(|start| header.strip_prefix(start))
                .map(unquoted);
            let sided = ["--- ", "+++ "]
                .iter()
                .find_map(|start| header.strip_prefix(start))
                .and_then(side_path);
            path = named.or(sided).or(path);
        }
        let mut hunks = HunkReader::default();
        while let Some(line) = lines
            .next_if(|line| hunks.is_inside() || line.starts_with("@@ ") || line.starts_with('\\'))
        {
            hunks.read(line);
        }
        let change = if is_binary {
            Change::Binary
        } else {
            hunks.finish()
        };
        diff.files
            .extend(path.map(|path| FileDiff { path, change }));
    }
    diff
}

/// Reads a single file's diff from the host's list. A binary or huge file has no `patch`. `changes`
/// is the number of changed lines that the host counts: 0 for a binary file.
pub fn read_patch(path: &str, patch: Option<&str>, changes: u64) -> FileDiff {
    let change = match patch {
        Some(patch) => {
            let mut hunks = HunkReader::default();
            patch.split('\n').for_each(|line| hunks.read(line));
            hunks.finish()
        }
        None if changes == 0 => Change::Binary,
        None => Change::TooLarge,
    };
    FileDiff {
        path: path.to_owned(),
        change,
    }
}

impl Diff {
    /// Collects the host's file list, which ends at 3,000.
    pub fn from_files(files: impl IntoIterator<Item = FileDiff>) -> Self {
        let mut files = files.into_iter();
        let listed: Vec<_> = files.by_ref().take(MAX_DIFF_FILES).collect();
        let truncated = listed.len() == MAX_DIFF_FILES;
        Self {
            files: listed,
            truncated,
        }
    }
}

/// Reads hunks line by line. A header's counts decide where a hunk ends, so a removed line `-- a/x`
/// is no header.
#[derive(Default)]
struct HunkReader {
    hunks: Vec<Hunk>,
    /// The next line numbers, and the lines that are left.
    old: u64,
    new: u64,
    old_left: u64,
    new_left: u64,
    lines: usize,
}

impl HunkReader {
    fn is_inside(&self) -> bool {
        self.old_left > 0 || self.new_left > 0
    }

    fn read(&mut self, line: &str) {
        if !self.is_inside() {
            self.open(line);
            return;
        }
        self.lines += 1;
        let Some(hunk) = self.hunks.last_mut() else {
            return;
        };
        match line.bytes().next() {
            Some(b'+') => {
                hunk.added.push(self.new);
                self.advance(0, 1);
            }
            Some(b'-') => {
                hunk.removed.push(self.old);
                self.advance(1, 0);
            }
            // No line: a note about the file's end.
            Some(b'\\') => {}
            _ => self.advance(1, 1),
        }
    }

    fn advance(&mut self, old: u64, new: u64) {
        self.old = self.old.saturating_add(old);
        self.new = self.new.saturating_add(new);
        self.old_left = self.old_left.saturating_sub(old);
        self.new_left = self.new_left.saturating_sub(new);
    }

    fn open(&mut self, line: &str) {
        let Some((old, new)) = header(line) else {
            return;
        };
        ((self.old, self.old_left), (self.new, self.new_left)) = (old, new);
        // An empty side is named by the line before it, and shows none.
        let right = match new {
            (_, 0) => None,
            (first, count) => Some(first..=first.saturating_add(count - 1)),
        };
        self.hunks.push(Hunk {
            right,
            removed: Vec::new(),
            added: Vec::new(),
        });
    }

    fn finish(self) -> Change {
        if self.lines > MAX_FILE_DIFF_LINES {
            Change::TooLarge
        } else {
            Change::Lines(self.hunks)
        }
    }
}

/// Reads `@@ -old[,count] +new[,count] @@`: each side's first line and count.
fn header(line: &str) -> Option<((u64, u64), (u64, u64))> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| match text.split_once(',') {
        Some((first, count)) => Some((first.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    };
    Some((range(old)?, range(new)?))
}

/// Returns the path in `a/x b/x`, which git prints for a change without content.
fn path_of_both(names: &str) -> Option<String> {
    if let Some(start) = names.find(" \"b/").filter(|_| names.ends_with('"')) {
        return Some(strip_side(&unquoted(&names[start + 1..])).to_owned());
    }
    let half = names.len() / 2;
    let (old, new) = (names.get(..half)?, names.get(half + 1..)?);
    (old.strip_prefix("a/") == new.strip_prefix("b/")).then(|| strip_side(new).to_owned())
}

/// Returns the path in a `---` or `+++` line; `None` for `/dev/null`.
fn side_path(name: &str) -> Option<String> {
    // Git ends a name that has blanks with a tab.
    let name = unquoted(name.strip_suffix('\t').unwrap_or(name));
    (name != "/dev/null").then(|| strip_side(&name).to_owned())
}

fn strip_side(name: &str) -> &str {
    ["a/", "b/"]
        .iter()
        .find_map(|side| name.strip_prefix(side))
        .unwrap_or(name)
}

/// Reverts git's quoting for unusual names.
pub fn unquoted(name: &str) -> String {
    let Some(inner) = name
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    else {
        return name.to_owned();
    };
    let (mut bytes, mut rest) = (Vec::new(), inner.bytes());
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(digit @ b'0'..=b'3') => {
                let digits = [Some(digit), rest.next(), rest.next()];
                let value = digits.iter().flatten().fold(0u32, |sum, digit| {
                    sum * 8 + u32::from(digit.wrapping_sub(b'0') & 7)
                });
                bytes.extend(u8::try_from(value).ok());
            }
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
