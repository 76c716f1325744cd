//! Neutralises text that no person wrote, before it is posted to a code host.
//!
//! A mention notifies people, a closing keyword closes an issue, an image reports that it was seen,
//! and a heading, an HTML comment or an open code block may imitate or hide the service's text. An
//! invisible blank breaks each of these. The text looks the same. Text in code is broken too,
//! because a host may decide otherwise than this module where code begins.

use ars_types::is_invisible;

use super::{
    cut::{cut_block, fitting, longest},
    lines::break_line,
};

/// Invisible blank that ends a word.
pub(super) const BREAK: char = '\u{200b}';
/// Ends a line that was cut.
const ELLIPSIS: char = '…';
/// Maximum length of an entity such as `&commat;` in characters, without the first.
const MAX_ENTITY_CHARS: usize = 33;
/// Address endings that make the host turn the following item into a reference.
const ITEM_PATHS: [&str; 3] = ["/issues/", "/pull/", "/discussions/"];

/// Neutralises a text for a single line, such as a title, and cuts it to `max_chars`.
pub fn neutral_line(text: &str, max_chars: usize) -> String {
    let flat = visible(text)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let render = |start: &str| break_line(&break_spans(start));
    let whole = render(&flat);
    if whole.chars().count() <= max_chars {
        return whole;
    }
    longest(&flat, |start| {
        fitting(&format!("{}{ELLIPSIS}", render(start)), max_chars)
    })
    .unwrap_or_default()
}

/// Neutralises a Markdown block, and cuts it to `max_chars` with a visible note.
///
/// No construct extends beyond the block's end: a code block that is still open is closed.
pub fn neutral_block(text: &str, max_chars: usize) -> String {
    let source = visible(text);
    cut_block(
        source.trim_matches('\n').trim_end(),
        max_chars,
        neutral_lines,
    )
}

fn neutral_lines(source: &str) -> String {
    let mut block = String::with_capacity(source.len());
    let mut open: Option<CodeBlock> = None;
    for line in source.split('\n') {
        let inner = break_spans(line);
        let fence = CodeBlock::at(line);
        match (open, fence) {
            (None, Some(fence)) if fence.may_open(line) => {
                open = Some(fence);
                block.push_str(&inner);
            }
            (Some(opened), Some(fence)) if fence.closes(opened, line) => {
                open = None;
                block.push_str(&inner);
            }
            (Some(_), Some(_)) => block.push_str(&inner),
            // An indented mark would close the block.
            (Some(_), None) if CodeBlock::at(line.trim_start()).is_some() => {
                block.push(BREAK);
                block.push_str(&inner);
            }
            (Some(_), None) => block.push_str(&inner),
            (None, _) => block.push_str(&break_line(&inner)),
        }
        block.push('\n');
    }
    block.pop();
    if let Some(CodeBlock { mark, count }) = open {
        block.push('\n');
        block.extend(std::iter::repeat_n(mark, count));
    }
    block
}

/// A code block's mark. Only a mark in the first column counts, because it cannot belong to a list
/// or a quotation.
#[derive(Debug, Clone, Copy)]
struct CodeBlock {
    mark: char,
    count: usize,
}

impl CodeBlock {
    fn at(line: &str) -> Option<Self> {
        let mark = line
            .chars()
            .next()
            .filter(|mark| matches!(mark, '`' | '~'))?;
        let count = line.chars().take_while(|char| *char == mark).count();
        (count >= 3).then_some(Self { mark, count })
    }

    fn may_open(self, line: &str) -> bool {
        self.mark == '~' || !line[self.count..].contains('`')
    }

    fn closes(self, opened: Self, line: &str) -> bool {
        self.mark == opened.mark
            && self.count >= opened.count
            && line[self.count..].trim().is_empty()
    }
}

/// Returns the text without invisible characters and those that reorder others.
fn visible(text: &str) -> String {
    let is_hidden = |char: char| {
        is_invisible(char)
            || matches!(char, '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}')
    };
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    lines.chars().filter(|char| !is_hidden(*char)).collect()
}

/// Breaks mentions, references, entities, HTML, images and link targets in a line.
fn break_spans(line: &str) -> String {
    let chars: Vec<char> = line.chars().collect();
    let mut out = String::with_capacity(line.len());
    for (index, char) in chars.iter().copied().enumerate() {
        let next = chars.get(index + 1).copied();
        if char.is_ascii_digit() && ends_with_item_path(&out) {
            out.push(BREAK);
        }
        out.push(char);
        let is_broken = match (char, next) {
            ('@', Some(next)) => next.is_alphanumeric() || matches!(next, '-' | '_'),
            ('#', Some(next)) => next.is_ascii_digit(),
            ('-', Some(next)) => next.is_ascii_digit() && is_gh(&chars[..index]),
            ('&', Some(_)) => is_entity(&chars[index + 1..]),
            ('<', Some(next)) => next.is_alphabetic() || matches!(next, '/' | '!' | '?'),
            ('!', Some(next)) => next == '[',
            (']', Some(next)) => matches!(next, '(' | ':'),
            _ => false,
        };
        if is_broken {
            out.push(BREAK);
        }
    }
    out
}

fn ends_with_item_path(text: &str) -> bool {
    ITEM_PATHS.iter().any(|path| {
        let start = text.len().checked_sub(path.len());
        start
            .and_then(|start| text.get(start..))
            .is_some_and(|end| end.eq_ignore_ascii_case(path))
    })
}

/// Returns whether the text ends with `GH`, which the host reads as `#` before `-` and a number.
fn is_gh(before: &[char]) -> bool {
    matches!(before, [.., 'g' | 'G', 'h' | 'H'])
}

fn is_entity(after: &[char]) -> bool {
    let name = after
        .iter()
        .take(MAX_ENTITY_CHARS)
        .take_while(|char| char.is_ascii_alphanumeric() || **char == '#');
    let length = name.count();
    length > 0 && after.get(length) == Some(&';')
}

#[cfg(test)]
#[path = "neutral_tests.rs"]
mod tests;
