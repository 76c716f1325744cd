//! Tests diffs and their anchors.

use proptest::prelude::*;

use super::*;
use crate::diff::{Rejected, Side};

const DIFF: &str = "\
diff --git a/src/a.rs b/src/a.rs
index 1..2 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -10,4 +10,4 @@ fn main() {
 ten
--- a/removed
-twelve
+++ b/added
+twelve new
 thirteen
\\ No newline at end of file
@@ -30 +30,2 @@
-thirty
+thirty
+more
diff --git a/old name.rs b/new name.rs
similarity index 90%
rename from old name.rs
rename to new name.rs
--- a/old name.rs\t
+++ b/new name.rs\t
@@ -1,2 +1 @@
 a
-b
diff --git a/gone.rs b/gone.rs
deleted file mode 100644
--- a/gone.rs
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/logo.png b/logo.png
Binary files a/logo.png and b/logo.png differ
diff --git a/moved b/moved
old mode 100644
new mode 100755
diff --git \"a/t\\303\\251.rs\" \"b/t\\303\\251.rs\"
--- \"a/t\\303\\251.rs\"
+++ \"b/t\\303\\251.rs\"
@@ -0,0 +1 @@
+x";

#[test]
fn every_file_of_a_diff_is_read() {
    let diff = parse_unified(DIFF);
    let paths: Vec<_> = diff.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "src/a.rs",
            "new name.rs",
            "gone.rs",
            "logo.png",
            "moved",
            "té.rs"
        ]
    );
    let Change::Lines(hunks) = &diff.files[0].change else {
        panic!()
    };
    let first = Hunk {
        right: Some(10..=13),
        removed: vec![11, 12],
        added: vec![11, 12],
    };
    assert_eq!(
        *hunks,
        [
            first,
            Hunk {
                right: Some(30..=31),
                removed: vec![30],
                added: vec![30, 31]
            }
        ]
    );
    assert_eq!(
        (&diff.files[3].change, &diff.files[4].change),
        (&Change::Binary, &Change::Lines(vec![]))
    );
    assert_eq!((diff.totals(), diff.truncated), ((5, 5), false));
}

#[test]
fn host_accepts_shown_lines_only() {
    use Rejected::{BadRange, LineNotShown, NoLines, UnknownFile};
    use Side::{Left, Right};
    let diff = parse_unified(DIFF);
    for (path, start, line, side, expected) in [
        ("src/a.rs", None, 10, Right, Ok(())),
        ("src/a.rs", None, 11, Right, Ok(())),
        ("src/a.rs", None, 13, Right, Ok(())),
        ("src/a.rs", None, 14, Right, Err(LineNotShown)),
        ("src/a.rs", None, 9, Right, Err(LineNotShown)),
        ("src/a.rs", None, 0, Right, Err(LineNotShown)),
        ("src/a.rs", None, 11, Left, Ok(())),
        ("src/a.rs", None, 10, Left, Err(LineNotShown)),
        ("src/a.rs", Some(10), 13, Right, Ok(())),
        ("src/a.rs", Some(13), 13, Right, Err(BadRange)),
        ("src/a.rs", Some(13), 10, Right, Err(BadRange)),
        ("src/a.rs", Some(13), 30, Right, Err(BadRange)),
        ("src/a.rs", Some(11), 12, Left, Ok(())),
        ("new name.rs", None, 1, Right, Ok(())),
        ("old name.rs", None, 1, Right, Err(UnknownFile)),
        ("gone.rs", None, 1, Left, Ok(())),
        ("gone.rs", None, 1, Right, Err(LineNotShown)),
        ("gone.rs", None, 0, Right, Err(LineNotShown)),
        ("logo.png", None, 1, Right, Err(NoLines)),
        ("moved", None, 1, Right, Err(LineNotShown)),
        ("src/A.rs", None, 10, Right, Err(UnknownFile)),
    ] {
        assert_eq!(
            diff.accepts(path, start, line, side),
            expected,
            "{path} {start:?} {line} {side:?}"
        );
    }
}

#[test]
fn file_without_a_patch_is_binary_or_huge() {
    assert_eq!(read_patch("a", None, 0).change, Change::Binary);
    assert_eq!(read_patch("a", None, 9_000).change, Change::TooLarge);
    let patch = format!("@@ -0,0 +1,20001 @@\n{}", "+x\n".repeat(20_001));
    assert_eq!(
        read_patch("a", Some(&patch), 20_001).change,
        Change::TooLarge
    );
    let Change::Lines(hunks) = read_patch("a", Some("@@ -1 +1 @@\n-a\n+b"), 2).change else {
        panic!()
    };
    assert_eq!(
        hunks,
        [Hunk {
            right: Some(1..=1),
            removed: vec![1],
            added: vec![1]
        }]
    );
}

#[test]
fn more_files_than_the_host_lists_are_counted_as_truncated() {
    let file = |index: usize| read_patch(&format!("f{index}"), Some(""), 0);
    assert!(!Diff::from_files((0..2_999).map(file)).truncated);
    let capped = Diff::from_files((0..5_000).map(file));
    assert_eq!((capped.files.len(), capped.truncated), (3_000, true));
    let text = "diff --git a/x b/x\n".repeat(3_001);
    let capped = parse_unified(&text);
    assert_eq!((capped.files.len(), capped.truncated), (3_000, true));
}

fn edit() -> impl Strategy<Value = Vec<(char, usize)>> {
    prop::collection::vec(
        (prop::sample::select(vec![' ', '+', '-']), 1..4usize),
        1..10,
    )
}

proptest! {
    /// Writes a hunk and reads it back.
    #[test]
    fn written_lines_are_read_back(edits in edit(), first in 1u64..50) {
        let marks: Vec<char> = edits.iter().flat_map(|(mark, count)| vec![*mark; *count]).collect();
        let old = marks.iter().filter(|mark| **mark != '+').count();
        let new = marks.iter().filter(|mark| **mark != '-').count();
        prop_assume!(old > 0 && new > 0);
        let body: String = marks.iter().map(|mark| format!("{mark}diff --git a/x b/x\n")).collect();
        let text = format!("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -{first},{old} +{first},{new} @@\n{body}");
        let diff = parse_unified(&text);
        prop_assert_eq!(diff.files.len(), 1);
        let (mut left, mut right) = (first, first);
        for mark in marks {
            if mark == '-' {
                prop_assert_eq!(diff.accepts("f", None, left, Side::Left), Ok(()));
            } else {
                prop_assert_eq!(diff.accepts("f", None, right, Side::Right), Ok(()));
            }
            left += u64::from(mark != '+');
            right += u64::from(mark != '-');
        }
        prop_assert_eq!(diff.accepts("f", None, right, Side::Right), Err(Rejected::LineNotShown));
    }

    #[test]
    fn any_text_is_parsed(pieces in prop::collection::vec(
        prop::sample::select(vec!["diff --git ", "a/x", " b/x", "\n", "@@ -1 +1 @@", "@@ -", "9999999999999999999", "+", "-", "\"", "\\", "é", "--- "]),
        0..60,
    )) {
        let diff = parse_unified(&pieces.concat());
        prop_assert!(diff.files.len() <= 60);
    }
}
