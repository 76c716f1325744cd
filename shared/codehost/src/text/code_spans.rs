//! The Markdown code ranges in a text: fenced blocks and inline code.
//!
//! Words in code are never directives. Not here: indented blocks, which cannot be distinguished
//! from a handwritten request.

use std::{collections::HashMap, ops::Range};

/// Minimum number of marks that open a code block.
const MIN_BLOCK_MARKS: usize = 3;

/// Returns the code ranges, in order. An unclosed block extends to the end.
pub fn code_spans(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    // Where the current prose starts, and the open block with where it starts.
    let (mut prose, mut block) = (0, None);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (begin, end) = (at, at + line.len());
        at = end;
        match (block, block_mark_of(line)) {
            (None, Some(opened)) => {
                inline(text, prose..begin, &mut spans);
                block = Some((opened, begin));
            }
            (Some((opened, since)), Some(closing)) if closes(opened, closing, line) => {
                spans.push(since..end);
                (prose, block) = (end, None);
            }
            (None | Some(_), _) => {}
        }
    }
    match block {
        Some((_, since)) => spans.push(since..text.len()),
        None => inline(text, prose..text.len(), &mut spans),
    }
    spans
}

/// Returns an opening line's mark and the number of repetitions.
fn block_mark_of(line: &str) -> Option<(char, usize)> {
    let line = line.trim();
    let mark = line
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let count = line.len() - rest.len();
    // A line with more backticks later is inline code.
    (count >= MIN_BLOCK_MARKS && !(mark == '`' && rest.contains('`'))).then_some((mark, count))
}

/// Returns whether a line closes the block: at least as many of the same marks and no other text.
fn closes(opened: (char, usize), closing: (char, usize), line: &str) -> bool {
    opened.0 == closing.0
        && closing.1 >= opened.1
        && line.trim().trim_start_matches(closing.0).is_empty()
}

/// Adds the inline code in a prose range: from each backtick run to the next with the same length.
fn inline(text: &str, prose: Range<usize>, spans: &mut Vec<Range<usize>>) {
    let runs = runs(text, prose);
    // The next run with the same length for each, found from the end, because a search from each
    // would be quadratic.
    let mut next_of = HashMap::new();
    let mut partners = vec![None; runs.len()];
    for (index, run) in runs.iter().enumerate().rev() {
        partners[index] = next_of.insert(run.len(), index);
    }
    let mut index = 0;
    while let Some(run) = runs.get(index) {
        index = match partners[index] {
            Some(partner) => {
                spans.push(run.start..runs[partner].end);
                partner + 1
            }
            None => index + 1,
        };
    }
}

/// Finds the backtick runs.
fn runs(text: &str, within: Range<usize>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (offset, _) in text[within.clone()].match_indices('`') {
        let at = within.start + offset;
        match runs.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<&str> {
        code_spans(text)
            .into_iter()
            .map(|span| &text[span])
            .collect()
    }

    #[test]
    fn code_block_ends_at_its_closing_line() {
        assert_eq!(
            code("a\n```rust\nb\n~~~\n```\nc\n"),
            ["```rust\nb\n~~~\n```\n"]
        );
        assert_eq!(code("~~~~\nb\n~~~\n~~~~~\nc"), ["~~~~\nb\n~~~\n~~~~~\n"]);
        assert_eq!(code("a\n  ```\nb `c`\n``` d\n"), ["  ```\nb `c`\n``` d\n"]);
    }

    #[test]
    fn inline_code_ends_with_equal_marks() {
        assert_eq!(code("a `b c` d ``e ` f`` g"), ["`b c`", "``e ` f``"]);
        assert_eq!(code("a ` b `` c\n```d``` e"), ["```d```"]);
        assert!(code("it's `open").is_empty());
    }

    #[test]
    fn inline_code_does_not_reach_across_a_block() {
        assert_eq!(code("a ` b\n```\nc\n```\nd ` e"), ["```\nc\n```\n"]);
    }
}
