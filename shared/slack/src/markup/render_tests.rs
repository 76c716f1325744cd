//! Tests of the conversion of Markdown to Slack's markup.

use proptest::prelude::*;

use super::*;

#[test]
fn inline_markup_is_converted() {
    for (markdown, mrkdwn) in [
        (
            "**bold** __bold__ *it* _it_ ~~no~~",
            "*bold* *bold* _it_ _it_ ~no~",
        ),
        ("***both*** and **a *b* c**", "_*both*_ and *a _b_ c*"),
        ("# Top **bold** `x`", "*Top bold `x`*"),
        ("Top\n===\nbody", "*Top*\n\nbody"),
        ("#", ""),
        (
            "un**believ**able `a`b",
            "un\u{200b}*believ*\u{200b}able `a`\u{200b}b",
        ),
        ("**two\nlines**", "*two lines*"),
        ("one\ntwo  \nthree<br/>four", "one\ntwo\nthree\nfour"),
        ("snake_case 2 * 3 * 4 \\*x\\*", "snake_case 2 * 3 * 4 *x*"),
        (
            "`a < b && **c**` ``x`y``",
            "`a &lt; b &amp;&amp; **c**` `x\u{2cb}y`",
        ),
    ] {
        assert_eq!(to_mrkdwn(markdown), mrkdwn, "{markdown}");
    }
}

#[test]
fn links_and_images_become_links() {
    for (markdown, mrkdwn) in [
        (
            "[a **b** `c` <d](https://x.y/?a=1&b=2)",
            "<https://x.y/?a=1&amp;b=2|a b c &lt;d>",
        ),
        (
            "[a](<https://x.y/\\<|\\> b>)",
            "<https://x.y/%3C%7C%3E%20b|a>",
        ),
        ("[a|b](https://x.y)", "<https://x.y|a|b>"),
        ("**[a](https://x.y)**", "*<https://x.y|a>*"),
        (
            "<https://x.y> [https://x.y](https://x.y)",
            "<https://x.y> <https://x.y>",
        ),
        (
            "<a@b.c> [mail](mailto:a@b.c)",
            "<mailto:a@b.c> <mailto:a@b.c|mail>",
        ),
        (
            "![alt text](https://x.y/a.png) ![](https://x.y)",
            "<https://x.y/a.png|alt text> <https://x.y>",
        ),
        (
            "[![badge](https://x.y/i)](https://x.y/p)",
            "<https://x.y/p|badge>",
        ),
        (
            "[a](src/a.rs) [src/a.rs](src/a.rs) [b](#b) [c]()",
            "a (src/a.rs) src/a.rs b c",
        ),
        ("[all](!channel) [me](@U1)", "all (!channel) me (@U1)"),
        (
            "[x](javascript:alert) [y](HTTPS://x.y)",
            "x (javascript:alert) <HTTPS://x.y|y>",
        ),
        ("see https://x.y/a?b&c", "see https://x.y/a?b&amp;c"),
    ] {
        assert_eq!(to_mrkdwn(markdown), mrkdwn, "{markdown}");
    }
}

#[test]
fn tags_of_a_model_are_literal() {
    for (markdown, mrkdwn) in [
        (
            "<!channel> <@U1> <#C1|x>",
            "&lt;!channel&gt; &lt;@U1&gt; &lt;#C1|x&gt;",
        ),
        (
            "a <!here> &lt;!here&gt; `<!here>`",
            "a &lt;!here&gt; &lt;!here&gt; `&lt;!here&gt;`",
        ),
        ("<b>x</b> & <!-- no -->y", "&lt;b&gt;x&lt;/b&gt; &amp; y"),
        (
            "<!-- a\nb -->\n\n<div>\n<!channel>\n</div>",
            "&lt;div&gt;\n&lt;!channel&gt;\n&lt;/div&gt;",
        ),
        (
            "[<!channel>](https://x.y)",
            "<https://x.y|&lt;!channel&gt;>",
        ),
        ("```\n<!channel>\n```", "```\n&lt;!channel&gt;\n```"),
    ] {
        assert_eq!(to_mrkdwn(markdown), mrkdwn, "{markdown}");
    }
}

#[test]
fn blocks_are_converted() {
    for (markdown, mrkdwn) in [
        ("a\n\n\nb\n\n---\nc", "a\n\nb\n\n──────────\n\nc"),
        (
            "a\n- b\n  - c\n    - d\n      - e\n- f\n\ng",
            "a\n\n• b\n    ◦ c\n        ▪ d\n            ▪ e\n• f\n\ng",
        ),
        ("9. a\n10. b\n    - c", "9. a\n10. b\n    ◦ c"),
        ("- a\n\n  more\n- b", "• a\n  more\n• b"),
        ("- [x] a\n- [ ] b\n\n1. [x] c", "☑ a\n☐ b\n\n1. ☑ c"),
        ("-\n- a", "• \n• a"),
        ("- - a", "• \n    ◦ a"),
        ("> a\n> b\n>\n> c\n\nd", "> a\n> b\n>\n> c\n\nd"),
        ("> - a\n> - b", "> • a\n> • b"),
        (
            "```rust\nlet a = b < **c**;\n\n  x\n```\nafter",
            "```\nlet a = b &lt; **c**;\n\n  x\n```\n\nafter",
        ),
        ("- a\n  ```\n  x\n  ```\n- b", "• a\n```\nx\n```\n• b"),
        ("````\n```\n````", "```\n\u{2cb}\u{2cb}\u{2cb}\n```"),
        ("    indented", "```\nindented\n```"),
        ("```\n```\nx", "x"),
        ("", ""),
    ] {
        assert_eq!(to_mrkdwn(markdown), mrkdwn, "{markdown}");
    }
}

#[test]
fn indentation_is_bounded() {
    let markup = to_mrkdwn(&format!("{}a", "- ".repeat(500)));
    let indent = INDENT.repeat(INDENT_MAX_LEVELS);
    assert_eq!(markup.lines().last(), Some(format!("{indent}▪ a").as_str()));
}

#[test]
fn tables_are_aligned_text() {
    let markdown = "| Name | n |\n|:--|--:|\n| `a` **b** | 10 |\n| [c](https://x.y) < | 2 |\n\nend";
    let mrkdwn = "```\n\
        Name              |  n\n\
        ------------------|---\n\
        a b               | 10\n\
        c (https://x.y) &lt; |  2\n\
        ```\n\nend";
    assert_eq!(to_mrkdwn(markdown), mrkdwn);
}

proptest! {
    /// The only tags are links, and each target has a scheme.
    #[test]
    fn any_markdown_has_only_links_as_tags(
        markdown in "([*_~`#>|\\-\\[\\]()!<@&: \n]|https://x.y|!channel|@U1|1\\. |\\[x\\](\\(|: )|```\n|    |\\PC){0,40}"
    ) {
        let mrkdwn = to_mrkdwn(&markdown);
        for tag in mrkdwn.split('<').skip(1) {
            prop_assert!(SCHEMES.iter().any(|scheme| tag.starts_with(scheme)), "{}", mrkdwn);
            prop_assert!(tag.contains('>'), "{}", mrkdwn);
        }
        prop_assert!(mrkdwn.matches(fence::FENCE).count().is_multiple_of(2) || markdown.contains('`'), "{}", mrkdwn);
    }
}
