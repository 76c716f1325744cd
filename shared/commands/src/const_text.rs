//! Compares text in constant evaluation, where the standard library's functions are not available.

/// Returns whether two texts are equal.
pub(crate) const fn equal(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    one.len() == other.len() && starts_with(one, other)
}

/// Returns whether `bytes` begins with `prefix`.
pub(crate) const fn starts_with(bytes: &[u8], prefix: &[u8]) -> bool {
    if bytes.len() < prefix.len() {
        return false;
    }
    let mut at = 0;
    while at < prefix.len() {
        if bytes[at] != prefix[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// Returns a byte's position, or the length without it.
pub(crate) const fn position(bytes: &[u8], wanted: u8) -> usize {
    let mut at = 0;
    while at < bytes.len() && bytes[at] != wanted {
        at += 1;
    }
    at
}

/// Returns whether the part from `from` to `to` is a word in lower case letters.
pub(crate) const fn is_word(bytes: &[u8], from: usize, to: usize) -> bool {
    let mut at = from;
    while at < to {
        if !bytes[at].is_ascii_lowercase() {
            return false;
        }
        at += 1;
    }
    from < to
}

/// Returns whether a name is in camelCase: letters and digits, a lower case letter first.
pub(crate) const fn is_camel(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_alphanumeric() {
            return false;
        }
        at += 1;
    }
    !bytes.is_empty() && bytes[0].is_ascii_lowercase()
}
