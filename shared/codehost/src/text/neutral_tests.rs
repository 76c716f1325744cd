//! Tests neutral text.

use proptest::prelude::*;

use super::*;
use crate::text::{hidden_marker, markers};

/// Shows each break as `·`.
fn shown(text: &str) -> String {
    text.replace(BREAK, "·")
}

fn block(text: &str) -> String {
    shown(&neutral_block(text, 10_000))
}

#[test]
fn spans_that_act_are_broken() {
    for (text, expected) in [
        (
            "ping @ann and @org/team, a@b.example",
            "ping @·ann and @·org/team, a@·b.example",
        ),
        ("\\@ann @ ann @-x", "\\@·ann @ ann @·-x"),
        (
            "Fixes #12, closes: acme/app#3, GH-4 gh-5 x-6",
            "Fixes #·12, closes: acme/app#·3, GH-·4 gh-·5 x-6",
        ),
        (
            "https://h.example/a/b/issues/12 /PULL/3",
            "https://h.example/a/b/issues/·12 /PULL/·3",
        ),
        (
            "&#64;ann &commat;ann &#x40;a a && b &c=1",
            "&·#·64;ann &·commat;ann &·#x40;a a && b &c=1",
        ),
        (
            "<!-- x --> <b> </b> <?x a < b <3",
            "<·!-- x --> <·b> <·/b> <·?x a < b <3",
        ),
        (
            "![x](https://h.example/p.png) [a](b)",
            "!·[x]·(https://h.example/p.png) [a]·(b)",
        ),
        ("[a]: https://h.example", "[a]·: https://h.example"),
        ("in `@ann` too", "in `@·ann` too"),
        ("a\u{202e}b\u{e0041}\u{200b}\u{7}c\r\nd\re", "abc\nd\ne"),
    ] {
        assert_eq!(block(text), expected);
    }
}

#[test]
fn line_starts_that_act_are_broken() {
    for (text, expected) in [
        ("# Evidence\n####\n#tag", "·# Evidence\n·####\n#tag"),
        ("- > 1. ## x", "- > 1. ·## x"),
        (
            "x\n---\ny\n===\n* * *\n- a\n-b",
            "x\n·---\ny\n·===\n·* * *\n- a\n-b",
        ),
        ("/merge now\n>/retest\n/ x", "·/merge now\n>·/retest\n/ x"),
        ("- ```\n  ```sh\n> ~~~", "- ·```\n  ·```sh\n> ·~~~"),
        ("| a | b |\n|---|---|", "| a | b |\n|---|---|"),
    ] {
        assert_eq!(block(text), expected);
    }
}

#[test]
fn code_block_ends_with_the_text() {
    for (text, expected) in [
        (
            "```rust\n# a\n  ```\n```\n# b",
            "```rust\n# a\n·  ```\n```\n·# b",
        ),
        ("~~~~\n~~~\n```", "~~~~\n~~~\n```\n~~~~"),
        ("```a`b\n# c", "```a`b\n·# c"),
    ] {
        assert_eq!(block(text), expected);
    }
}

#[test]
fn line_is_flat_and_cut() {
    assert_eq!(
        shown(&neutral_line("  # a\n\n@b\t<c> ", 100)),
        "·# a @·b <·c>"
    );
    let cut = neutral_line(&"@a ".repeat(100), 50);
    assert!(cut.chars().count() <= 50 && cut.ends_with('…'), "{cut}");
}

#[test]
fn forged_marker_is_not_found() {
    let forged = hidden_marker("review", "0a1b2c3");
    assert_eq!(markers(&forged, "review").len(), 1);
    assert!(markers(&neutral_block(&forged, 1_000), "review").is_empty());
    assert!(markers(&neutral_line(&forged, 1_000), "review").is_empty());
}

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "@", "ann", "#", "1", "GH-", "&", "#64", ";", "<", "!--", "-->", "!", "[", "]", "(", ":",
        "`", "```", "~~~", "\n", " ", "-", "=", ">", "\u{200b}", "\u{202e}", "/issues/", "/x",
        "\t", "é", "1.", "\r",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_acts_after_neutralising(text in hostile(), max in 24usize..80) {
        for neutral in [neutral_block(&text, max), neutral_line(&text, max)] {
            prop_assert!(neutral.chars().count() <= max, "{neutral:?}");
            let chars: Vec<char> = neutral.chars().collect();
            for pair in chars.windows(2) {
                let acts = match pair {
                    ['@', next] => next.is_alphanumeric(),
                    ['#', next] => next.is_ascii_digit(),
                    ['<', next] => next.is_alphabetic() || "/!?".contains(*next),
                    ['!', next] => *next == '[',
                    [']', next] => "(:".contains(*next),
                    _ => false,
                };
                prop_assert!(!acts, "{pair:?} in {neutral:?}");
            }
            let is_visible = !neutral.contains(['\u{202e}', '\r']);
            prop_assert!(is_visible, "{neutral:?}");
        }
    }

    #[test]
    fn every_code_block_is_closed(text in hostile()) {
        let neutral = neutral_block(&text, 10_000);
        // CommonMark: at most three blanks before the marks.
        let mut open: Option<(char, usize)> = None;
        for line in neutral.split('\n') {
            let bare = line.trim_start_matches(' ');
            let Some(mark) = bare.chars().next().filter(|mark| "`~".contains(*mark)) else { continue };
            let count = bare.chars().take_while(|char| *char == mark).count();
            let rest = &bare[count..];
            if count < 3 || line.len() - bare.len() > 3 {
                continue;
            }
            open = match open {
                None if mark == '~' || !rest.contains('`') => Some((mark, count)),
                Some((opened, least)) if opened == mark && count >= least && rest.trim().is_empty() => None,
                open => open,
            };
        }
        prop_assert_eq!(open, None, "{:?}", neutral);
    }

    #[test]
    fn neutral_text_stays_the_same(text in hostile()) {
        let once = neutral_block(&text, 10_000);
        prop_assert_eq!(neutral_block(&once, 10_000), once);
    }
}
