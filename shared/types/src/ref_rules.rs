//! Git's rules for ref names (`git check-ref-format --branch`). Not here: lengths (`id`).

/// Characters that no ref has, beside control characters.
const NEVER: &[u8] = b" ~^:?*[\\";
/// Name suffix with which git locks refs.
const LOCK: &str = ".lock";

/// Returns whether git accepts a name for a branch, which also makes it no option.
pub fn is_ref_name(text: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(LOCK);
    text != "@"
        && !text.starts_with('-')
        && !text.ends_with('.')
        && !text.contains("..")
        && !text.contains("@{")
        && !text
            .bytes()
            .any(|byte| byte.is_ascii_control() || NEVER.contains(&byte))
        && text.split('/').all(is_part)
}
