//! The spellings of a name: camelCase in JSON, kebab-case in text.

use std::borrow::Cow;

/// Most characters of a name that an error repeats.
const SHOWN_MAX: usize = 32;

/// Returns the kebab-case form of a camelCase name.
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

/// Returns an unknown name if it can be shown: a long or odd one may be a pasted secret.
pub(crate) fn shown(name: &str) -> Option<String> {
    let is_plain = !name.is_empty()
        && name.len() <= SHOWN_MAX
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
    is_plain.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_become_hyphens() {
        for (camel, expected) in
            [("limit", "limit"), ("afterSeq", "after-seq"), ("sinceMs", "since-ms"), ("aBC", "a-b-c")]
        {
            assert_eq!(kebab(camel), expected);
        }
    }

    #[test]
    fn odd_names_are_not_shown() {
        assert_eq!(shown("after-seq").as_deref(), Some("after-seq"));
        for odd in ["", "a b", "ghp_0123456789", "é", "sk-ant-01234567890123456789012345678901"] {
            assert_eq!(shown(odd), None, "{odd}");
        }
    }
}
