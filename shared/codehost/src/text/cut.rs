//! Cuts a block to a length, visibly.

/// Maximum length of a body that the host accepts, in characters.
pub const MAX_BODY_CHARS: usize = 65_536;
/// Ends a block that was cut.
const NOTE: &str = "[… the rest is cut …]";
/// The note and the blank line before it.
const NOTE_CHARS: usize = 23;

/// Renders the longest start of `source` that fits in `max_chars`, with a note if it was cut.
///
/// `render` may lengthen the text. A limit below the note's length yields an empty text.
pub fn cut_block(source: &str, max_chars: usize, render: impl Fn(&str) -> String) -> String {
    let whole = render(source);
    if whole.chars().count() <= max_chars {
        return whole;
    }
    let Some(room) = max_chars.checked_sub(NOTE_CHARS) else {
        return String::new();
    };
    match longest(source, |start| fitting(&render(start.trim_end()), room)) {
        Some(kept) if !kept.is_empty() => format!("{kept}\n\n{NOTE}"),
        _ => NOTE.to_owned(),
    }
}

/// Renders the longest start of `source` that `render` accepts, found by bisection.
pub(super) fn longest(source: &str, render: impl Fn(&str) -> Option<String>) -> Option<String> {
    let ends: Vec<usize> = source
        .char_indices()
        .map(|(at, _)| at)
        .chain([source.len()])
        .collect();
    let mut best = render("")?;
    let (mut fits, mut too_long) = (0, ends.len());
    while fits + 1 < too_long {
        let middle = fits.midpoint(too_long);
        match render(&source[..ends[middle]]) {
            Some(rendered) => (fits, best) = (middle, rendered),
            None => too_long = middle,
        }
    }
    Some(best)
}

/// Returns the text if it has at most `max_chars` characters.
pub(super) fn fitting(text: &str, max_chars: usize) -> Option<String> {
    (text.chars().count() <= max_chars).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_is_cut_with_a_note() {
        assert_eq!(NOTE.chars().count() + 2, NOTE_CHARS);
        assert_eq!(cut_block("abc", 3, str::to_owned), "abc");
        let long = "é".repeat(100);
        let doubled = |text: &str| text.repeat(2);
        let cut = cut_block(&long, 63, doubled);
        assert_eq!(cut, format!("{}\n\n{NOTE}", "é".repeat(40)));
        assert_eq!(cut_block(&long, 23, doubled), NOTE);
        assert_eq!(cut_block(&long, 22, doubled), "");
    }
}
