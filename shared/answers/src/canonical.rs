//! One form of emphasis: text between single asterisks becomes strong.
//!
//! Chat platforms write strong text with one asterisk, and models that know them do so in Markdown too.

use std::{borrow::Cow, ops::Range};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Doubles the asterisks around text that has one on each side. Code, lists and links are unchanged.
///
/// Nested emphasis is left alone: doubled asterisks would pair up in another way.
pub fn canonical(markdown: &str) -> Cow<'_, str> {
    let spans = single_asterisks(markdown);
    if spans.is_empty() {
        return Cow::Borrowed(markdown);
    }
    let mut doubled = String::with_capacity(markdown.len() + 2 * spans.len());
    let mut done = 0;
    for span in spans {
        for end in [span.start + 1, span.end] {
            doubled.push_str(&markdown[done..end]);
            doubled.push('*');
            done = end;
        }
    }
    doubled.push_str(&markdown[done..]);
    // Asterisks beside the text may give the doubled ones another meaning.
    match words(&doubled) == words(markdown) {
        true => Cow::Owned(doubled),
        false => Cow::Borrowed(markdown),
    }
}

fn parser(markdown: &str) -> Parser<'_> {
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES;
    Parser::new_ext(markdown, options)
}

/// Returns the spans of emphasis with single asterisks that are neither in nor around another.
fn single_asterisks(markdown: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open = 0_usize;
    // The outermost emphasis, until another begins in it.
    let mut outermost = None;
    for (event, span) in parser(markdown).into_offset_iter() {
        match event {
            Event::Start(Tag::Emphasis | Tag::Strong) => {
                let is_single = matches!(event, Event::Start(Tag::Emphasis));
                outermost = (open == 0 && is_single).then_some(span);
                open += 1;
            }
            Event::End(TagEnd::Emphasis | TagEnd::Strong) => {
                open -= 1;
                let is_lone = |span: &Range<usize>| {
                    let (before, inner) = (&markdown[..span.start], &markdown[span.clone()]);
                    let after = &markdown[span.end..];
                    inner.starts_with('*') && !before.ends_with('*') && !after.starts_with('*')
                };
                found.extend(outermost.take().filter(is_lone));
            }
            _ => {}
        }
    }
    found
}

/// Returns the events that a reader sees, without emphasis.
fn words(markdown: &str) -> Vec<Event<'_>> {
    let is_emphasis = |event: &Event<'_>| {
        matches!(
            event,
            Event::Start(Tag::Emphasis | Tag::Strong)
                | Event::End(TagEnd::Emphasis | TagEnd::Strong)
        )
    };
    let mut words: Vec<Event<'_>> = Vec::new();
    for event in parser(markdown).filter(|event| !is_emphasis(event)) {
        match (words.last_mut(), event) {
            (Some(Event::Text(last)), Event::Text(text)) => *last = format!("{last}{text}").into(),
            (_, event) => words.push(event),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn single_asterisks_are_doubled() {
        for (raw, expected) in [
            ("*Done*: all *tests* pass", "**Done**: all **tests** pass"),
            ("a*b*c", "a**b**c"),
            ("*two\nlines*", "**two\nlines**"),
            ("- *item*\n- b", "- **item**\n- b"),
            ("| *a* |\n|---|\n| b |", "| **a** |\n|---|\n| b |"),
            ("[*x*](https://a.b)", "[**x**](https://a.b)"),
            ("*`code*`*", "**`code*`**"),
            ("*see [x](https://a.b/*)*", "**see [x](https://a.b/*)**"),
        ] {
            assert_eq!(canonical(raw), expected, "{raw}");
        }
    }

    #[test]
    fn everything_else_is_unchanged() {
        for text in [
            "",
            "**strong**",
            "***both***",
            "_it_ and __strong__",
            "* item\n* item",
            "2 * 3 * 4",
            r"\*no\*",
            "`*code*`",
            "```\n*code*\n```",
            "**a *b* c**",
            "*a **b** c*",
            "*a *b* c*",
            "<https://a.b/*x*y>",
        ] {
            assert_eq!(canonical(text), text);
        }
    }

    proptest! {
        #[test]
        fn words_stay_and_a_second_pass_changes_nothing(text in "[*_a b`\\[\\]()\n\\\\|~-]{0,40}") {
            let once = canonical(&text).into_owned();
            prop_assert_eq!(words(&once), words(&text));
            prop_assert_eq!(canonical(&once), once.as_str());
        }
    }
}
