//! A name's spellings: camelCase in JSON, kebab-case in text, and a typing error away.

use std::borrow::Cow;

/// Maximum length of a name that an error repeats, in characters.
const SHOWN_MAX: usize = 32;

/// Returns a camelCase name in kebab-case.
pub(crate) fn kebab(name: &str) -> Cow<'_, str> {
    if !name.bytes().any(|b| b.is_ascii_uppercase()) {
        return Cow::Borrowed(name);
    }
    let mut text = String::with_capacity(name.len() + 2);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            text.push('-');
        }
        text.push(c.to_ascii_lowercase());
    }
    Cow::Owned(text)
}

/// Returns an unknown name if it can be shown: a long or odd name may be a pasted secret.
pub(crate) fn shown(name: &str) -> Option<String> {
    let is_plain = !name.is_empty()
        && name.len() <= SHOWN_MAX
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
    is_plain.then(|| name.to_owned())
}

/// Returns whether a single edit turns either word into the other. An edit adds, removes or
/// replaces a character, or swaps it with a neighbour.
pub(crate) fn is_one_edit(left: &str, right: &str) -> bool {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let same = left.iter().zip(&right).take_while(|(a, b)| a == b).count();
    let (left, right) = (&left[same..], &right[same..]);
    let is_swapped =
        |a: &[char], b: &[char]| a.len() > 1 && b.len() > 1 && a[0] == b[1] && a[1] == b[0];
    match (left, right) {
        ([], []) => false,
        ([_, left @ ..], right) if left == right => true,
        (left, [_, right @ ..]) if left == right => true,
        ([_, a @ ..], [_, b @ ..]) if a == b => true,
        (left, right) => is_swapped(left, right) && left[2..] == right[2..],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_differ_by_at_most_one_edit() {
        for (word, expected) in [
            ("list", false),
            ("lists", true),
            ("ist", true),
            ("lst", true),
            ("mist", true),
            ("ilst", true),
            ("lits", true),
            ("till", false),
            ("lsti", false),
            ("listed", false),
            ("", false),
        ] {
            assert_eq!(is_one_edit(word, "list"), expected, "{word}");
            assert_eq!(is_one_edit("list", word), expected, "{word}");
        }
    }

    #[test]
    fn capitals_become_hyphens() {
        for (camel, expected) in [
            ("limit", "limit"),
            ("afterSeq", "after-seq"),
            ("sinceMs", "since-ms"),
            ("aBC", "a-b-c"),
        ] {
            assert_eq!(kebab(camel), expected);
        }
    }

    #[test]
    fn odd_names_are_not_shown() {
        assert_eq!(shown("after-seq").as_deref(), Some("after-seq"));
        for odd in [
            "",
            "a b",
            "ghp_0123456789",
            "é",
            "sk-ant-01234567890123456789012345678901",
        ] {
            assert_eq!(shown(odd), None, "{odd}");
        }
    }
}
