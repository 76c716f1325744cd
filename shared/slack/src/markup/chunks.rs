//! A long answer as several messages.

use super::fence::FENCE;

/// Maximum characters of a message's text. Slack shows up to 4,000 well.
pub const MAX_CHUNK_CHARS: usize = 3_500;
/// Smallest chunk, so that fences leave room for text.
const MIN_CHUNK_CHARS: usize = 16;
/// Maximum characters of a tag or an entity that is kept whole at the cost of a shorter chunk.
const WHOLE_MAX_CHARS: usize = 1_000;
/// Begins a chunk that continues a code block.
const REOPEN: &str = "```\n";
/// Ends a chunk inside a code block.
const CLOSE: &str = "\n```";

/// Splits Slack markup into chunks of at most `limit` characters.
///
/// A chunk ends at the last newline within the limit, unless that lies in its first half; then it ends at the limit,
/// or before a link, an entity or a fence there. A code block that is split ends and begins again.
pub fn chunks(text: &str, limit: usize) -> Vec<String> {
    let limit = limit.max(MIN_CHUNK_CHARS);
    let mut found = Vec::new();
    let mut rest = text;
    let mut is_code = false;
    loop {
        let prefix = if is_code { REOPEN } else { "" };
        let room = limit - prefix.len();
        if rest.chars().nth(room).is_none() {
            push(&mut found, format!("{prefix}{rest}"));
            return found;
        }
        let mut end = chunk_end(rest, room);
        if ends_in_code(&rest[..end], is_code) {
            end = before_open_fence(rest, chunk_end(rest, room - CLOSE.len()));
        }
        let chunk = &rest[..end];
        let is_open = ends_in_code(chunk, is_code);
        let suffix = if is_open { CLOSE } else { "" };
        push(&mut found, format!("{prefix}{chunk}{suffix}"));
        let next = without_newline(&rest[end..]);
        let after_code = next.strip_prefix(FENCE).filter(|_| is_open);
        rest = after_code.map_or(next, without_newline);
        is_code = is_open && after_code.is_none();
    }
}

fn without_newline(text: &str) -> &str {
    text.strip_prefix('\n').unwrap_or(text)
}

/// Moves an end before the fence that it follows, where a code block would have no line.
fn before_open_fence(text: &str, end: usize) -> usize {
    let before = text[..end].trim_end().strip_suffix(FENCE);
    before.map_or(
        end,
        |before| if before.is_empty() { end } else { before.len() },
    )
}

/// Adds a chunk, unless Slack would reject it as empty.
fn push(chunks: &mut Vec<String>, chunk: String) {
    if !chunk.replace(FENCE, "").trim().is_empty() {
        chunks.push(chunk);
    }
}

/// Returns where a chunk of at most `room` characters ends.
fn chunk_end(text: &str, room: usize) -> usize {
    let byte = |chars: usize| {
        text.char_indices()
            .nth(chars)
            .map_or(text.len(), |(at, _)| at)
    };
    // The newline itself may be the first character beyond the chunk.
    let newline = text[..byte(room + 1)].rfind('\n');
    match newline {
        Some(newline) if newline >= byte(room / 2).max(1) => newline,
        _ => whole_end(text, byte(room)),
    }
}

/// Moves an end before the tag, the entity or the fence that it would split.
fn whole_end(text: &str, end: usize) -> usize {
    let (before, after) = text.split_at(end);
    let is_near = |start: &usize| before[*start..].chars().count() <= WHOLE_MAX_CHARS;
    let tag = before
        .rfind('<')
        .filter(|start| !before[*start..].contains('>'));
    let entity = before.rfind('&').filter(|start| {
        let inside = &before[start + 1..];
        inside.len() <= 3 && inside.bytes().all(|byte| byte.is_ascii_lowercase())
    });
    let is_fence = before.ends_with('`') && after.starts_with('`');
    let fence = is_fence.then(|| before.trim_end_matches('`').len());
    let starts = [tag, entity, fence].into_iter().flatten().filter(is_near);
    starts.filter(|start| *start > 0).min().unwrap_or(end)
}

fn ends_in_code(chunk: &str, starts_in_code: bool) -> bool {
    let is_odd = chunk.matches(FENCE).count() % 2 == 1;
    is_odd != starts_in_code
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_is_cut_at_a_late_newline() {
        let x = |count| "x".repeat(count);
        for (text, expected) in [
            (x(20), vec![x(20)]),
            (x(45), vec![x(20), x(20), x(5)]),
            (format!("{}\n{}", x(10), x(15)), vec![x(10), x(15)]),
            (format!("{}\n{}", x(20), x(15)), vec![x(20), x(15)]),
            (
                format!("{}\n{}", x(9), x(15)),
                vec![format!("{}\n{}", x(9), x(10)), x(5)],
            ),
            (
                format!("{}\n{}\n{}", x(12), x(5), x(9)),
                vec![format!("{}\n{}", x(12), x(5)), x(9)],
            ),
            ("é".repeat(25), vec!["é".repeat(20), "é".repeat(5)]),
            (String::new(), vec![]),
            (format!("{}\n\n\n", x(20)), vec![x(20)]),
        ] {
            assert_eq!(chunks(&text, 20), expected, "{text}");
        }
    }

    #[test]
    fn split_code_is_fenced_in_each_chunk() {
        let text = "a\n```\nline one\nline two\nline 3\n```\nend";
        assert_eq!(
            chunks(text, 24),
            ["a\n```\nline one\n```", "```\nline two\nline 3\n```", "end"]
        );
    }

    #[test]
    fn links_entities_and_fences_stay_whole() {
        for (text, expected) in [
            (
                "0123456789012 <https://x.y|x> z",
                vec!["0123456789012 ", "<https://x.y|x> z"],
            ),
            (
                "012345678901234567&amp;0",
                vec!["012345678901234567", "&amp;0"],
            ),
            (
                "0123456789 ab & cdefghijk",
                vec!["0123456789 ab & cdef", "ghijk"],
            ),
            (
                "0123456789012345678``` x ```",
                vec!["0123456789012345678", "``` x ```"],
            ),
        ] {
            assert_eq!(chunks(text, 20), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn chunks_keep_the_text_within_the_limit(
            text in "(```|[\n<>&`| ]|&amp;|https://x\\.y|[a-z]{1,12}|\\PC){0,60}", limit in 16usize..60
        ) {
            let found = chunks(&text, limit);
            for chunk in &found {
                prop_assert!(chunk.chars().count() <= limit, "{:?}", found);
            }
            let bare = |text: &str| text.replace(['`', '\n'], "").replace(' ', "");
            let joined: String = found.iter().map(|chunk| bare(chunk)).collect();
            let is_blank = |c: char| c.is_whitespace();
            prop_assert_eq!(joined.replace(is_blank, ""), bare(&text).replace(is_blank, ""));
        }
    }
}
