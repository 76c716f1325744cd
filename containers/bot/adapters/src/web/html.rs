//! HTML as readable text: headings, paragraphs, lists, tables and links, without scripts and
//! styles.
//!
//! It reads tokens and builds no tree. A tree builder needs time quadratic in the document's depth,
//! and a hostile 1 MB page is 200,000 elements deep; here the time is linear in the input, and
//! depth is a few counters. Not here: character sets (`text`).

use html5gum::{EndTag, StartTag, Token, Tokenizer};
use reqwest::Url;

/// Longest link that is shown, in characters; longer links usually carry data.
const LINK_MAX: usize = 1_000;
/// Deepest list indentation, in levels.
const INDENT_MAX: usize = 6;

/// Returns the page's text, about `limit` bytes at most, and whether it was cut.
/// Links are resolved against `base`.
pub(super) fn readable(html: &str, base: &Url, limit: usize) -> (String, bool) {
    let mut page = Page::new(base);
    for token in Tokenizer::new(html) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => page.start(&tag),
            Token::EndTag(tag) => page.end(&tag),
            Token::String(text) => page.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
        if page.out.len() > limit {
            let end = page.out.floor_char_boundary(limit);
            page.out.truncate(end);
            return (page.out, true);
        }
    }
    page.close_link();
    page.out.truncate(page.out.trim_end().len());
    (page.out, false)
}

/// An element's effect on the text around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Content that is not text.
    Hidden,
    /// Surrounded by empty lines.
    Block,
    /// Begins a new line.
    Line,
    /// A heading with this level.
    Heading(usize),
    /// A list with items.
    List,
    /// An item in a list.
    Item,
    /// A cell in a table row.
    Cell,
    /// Text with significant white space.
    Preformatted,
    /// A link with a target.
    Link,
    /// A picture in the text.
    Image,
    /// Stays part of the line.
    Inline,
}

impl Role {
    fn from_tag_name(name: &[u8]) -> Self {
        match name {
            b"script" | b"style" | b"template" | b"svg" | b"iframe" | b"object" | b"canvas"
            | b"noembed" | b"noframes" => Self::Hidden,
            b"p" | b"table" | b"blockquote" | b"hr" | b"figure" | b"dl" | b"title" | b"details" => {
                Self::Block
            }
            b"div" | b"section" | b"article" | b"header" | b"footer" | b"nav" | b"main"
            | b"aside" | b"form" | b"fieldset" | b"address" | b"summary" | b"figcaption"
            | b"caption" | b"tr" | b"dt" | b"dd" | b"br" | b"option" | b"legend" | b"body" => {
                Self::Line
            }
            [b'h', level @ b'1'..=b'6'] => Self::Heading(usize::from(level - b'0')),
            b"ul" | b"ol" | b"menu" => Self::List,
            b"li" => Self::Item,
            b"td" | b"th" => Self::Cell,
            b"pre" | b"textarea" => Self::Preformatted,
            b"a" => Self::Link,
            b"img" => Self::Image,
            _ => Self::Inline,
        }
    }
}

/// The separator before the next word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    Cell,
    Line,
    Paragraph,
}

/// The text so far and the state that affects the next word.
struct Page<'a> {
    base: &'a Url,
    out: String,
    gap: Gap,
    /// The mark of a heading or an item, written with the first word.
    mark: String,
    /// The open hidden element, and how many elements with this name are open.
    hidden: Option<(Vec<u8>, usize)>,
    lists: usize,
    preformatted: usize,
    /// The open link's target, and whether any word in it was written.
    link: Option<(String, bool)>,
}

impl<'a> Page<'a> {
    fn new(base: &'a Url) -> Self {
        Self {
            base,
            out: String::new(),
            gap: Gap::None,
            mark: String::new(),
            hidden: None,
            lists: 0,
            preformatted: 0,
            link: None,
        }
    }

    fn start(&mut self, tag: &StartTag<()>) {
        if let Some((name, depth)) = &mut self.hidden {
            *depth += usize::from(**name == **tag.name);
            return;
        }
        match Role::from_tag_name(&tag.name) {
            // As in browsers, `/>` closes foreign elements only.
            Role::Hidden if tag.self_closing && **tag.name == *b"svg" => {}
            Role::Hidden => self.hidden = Some((tag.name.to_vec(), 1)),
            Role::Block => self.part(Gap::Paragraph),
            Role::Line => self.part(Gap::Line),
            Role::Heading(level) => {
                self.part(Gap::Paragraph);
                self.mark = format!("{} ", "#".repeat(level));
            }
            Role::List => {
                self.part(if self.lists == 0 {
                    Gap::Paragraph
                } else {
                    Gap::Line
                });
                self.lists += 1;
            }
            Role::Item => {
                self.part(Gap::Line);
                self.mark = format!(
                    "{}- ",
                    "  ".repeat(self.lists.saturating_sub(1).min(INDENT_MAX))
                );
            }
            Role::Cell => self.part(Gap::Cell),
            Role::Preformatted => {
                self.part(Gap::Paragraph);
                self.preformatted += 1;
            }
            Role::Link => self.open_link(tag),
            Role::Image => self.image(tag),
            Role::Inline => {}
        }
    }

    fn end(&mut self, tag: &EndTag<()>) {
        if let Some((name, depth)) = &mut self.hidden {
            *depth -= usize::from(**name == **tag.name);
            if *depth == 0 {
                self.hidden = None;
            }
            return;
        }
        match Role::from_tag_name(&tag.name) {
            Role::Block | Role::Heading(_) => self.part(Gap::Paragraph),
            Role::Line | Role::Item => self.part(Gap::Line),
            Role::List => {
                self.lists = self.lists.saturating_sub(1);
                self.part(if self.lists == 0 {
                    Gap::Paragraph
                } else {
                    Gap::Line
                });
            }
            Role::Preformatted => {
                self.preformatted = self.preformatted.saturating_sub(1);
                self.part(Gap::Paragraph);
            }
            Role::Link => self.close_link(),
            Role::Hidden | Role::Cell | Role::Image | Role::Inline => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        if self.preformatted > 0 {
            // A line break right after the opening tag is not part of the text.
            let text = if self.gap >= Gap::Line {
                text.trim_start_matches('\n')
            } else {
                text
            };
            if !text.is_empty() {
                self.write(text);
            }
            return;
        }
        let mut words = text.split_whitespace().peekable();
        if text.starts_with(char::is_whitespace) {
            self.part(Gap::Space);
        }
        while let Some(word) = words.next() {
            self.write(word);
            if words.peek().is_some() {
                self.part(Gap::Space);
            }
        }
        if text.ends_with(char::is_whitespace) {
            self.part(Gap::Space);
        }
    }

    /// Requests a separator before the next word; the widest wins. An unused mark is dropped with
    /// the line.
    fn part(&mut self, gap: Gap) {
        if gap >= Gap::Line {
            self.mark.clear();
        }
        self.gap = self.gap.max(gap);
    }

    fn write(&mut self, text: &str) {
        let fresh_line = self.out.is_empty() || self.out.ends_with('\n');
        match self.gap {
            _ if self.out.is_empty() => {}
            Gap::None => {}
            Gap::Space => self.out.push(' '),
            Gap::Cell => self.out.push_str(if fresh_line { "" } else { " | " }),
            Gap::Line => self.out.push_str(if fresh_line { "" } else { "\n" }),
            Gap::Paragraph => self.out.push_str(if fresh_line { "\n" } else { "\n\n" }),
        }
        self.gap = Gap::None;
        self.out.push_str(&std::mem::take(&mut self.mark));
        if let Some((_, written @ false)) = &mut self.link {
            *written = true;
            self.out.push('[');
        }
        self.out.push_str(text);
    }

    fn open_link(&mut self, tag: &StartTag<()>) {
        self.close_link();
        let Some(href) = attribute(tag, b"href").filter(|href| !href.starts_with('#')) else {
            return;
        };
        let url = self
            .base
            .join(&href)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"));
        self.link = url
            .map(String::from)
            .filter(|url| url.len() <= LINK_MAX)
            .map(|url| (url, false));
    }

    fn close_link(&mut self) {
        if let Some((url, true)) = self.link.take() {
            self.out.push_str(&format!("]({url})"));
        }
    }

    fn image(&mut self, tag: &StartTag<()>) {
        let alt = attribute(tag, b"alt").unwrap_or_default();
        let alt = alt.split_whitespace().collect::<Vec<_>>().join(" ");
        if !alt.is_empty() {
            self.write(&format!("(image: {alt})"));
        }
    }
}

fn attribute(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    tag.attributes
        .get(name)
        .map(|value| String::from_utf8_lossy(value).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn read(html: &str) -> String {
        readable(
            html,
            &Url::parse("https://example.com/docs/page").unwrap(),
            1 << 20,
        )
        .0
    }

    #[test]
    fn a_page_reads_as_its_text() {
        let html = "<!doctype html><html><head><title> The  title </title><style>b{}</style>\
            <script>if (a < b) alert('<p>no</p>')</script></head><body><h1>Head\nline</h1>\
            <p>One <b>two</b>,\n three&amp;four &lt;five&gt;.<p>Next<br>line\
            <ul><li>a<ul><li>b</ul><li>c</ul><div>d<div>e</div></div>\
            <table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2</td></tr></table>\
            <pre>\n  x\n    y</pre>end<!-- comment --></body>";
        let text = "The title\n\n# Head line\n\nOne two, three&four <five>.\n\nNext\nline\n\n- a\n  - b\n- c\n\nd\ne\n\n\
            k | v\n1 | 2\n\n  x\n    y\n\nend";
        assert_eq!(read(html), text);
    }

    #[test]
    fn links_and_pictures_show_target_and_text() {
        assert_eq!(
            read("see <a href=' ../x?y#z '>the <i>x</i></a>."),
            "see [the x](https://example.com/x?y#z)."
        );
        assert_eq!(
            read("<a href=//other.example/a>o</a>"),
            "[o](https://other.example/a)"
        );
        for plain in [
            "#top",
            "javascript:alert(1)",
            "mailto:a@example.com",
            "http://[",
            "",
        ] {
            let text = read(&format!("<a href='{plain}'>t</a>"));
            assert!(text == "t" || plain.is_empty(), "{plain}: {text}");
        }
        assert_eq!(read(&format!("<a href='/{}'>t</a>", "x".repeat(2000))), "t");
        assert_eq!(
            read("<a href=/1><a href=/2>t"),
            "[t](https://example.com/2)"
        );
        assert_eq!(
            read("a <img src=x alt=' a\ncat '> b <img src=y>"),
            "a (image: a cat) b"
        );
    }

    #[test]
    fn broken_markup_still_reads() {
        for (html, text) in [
            ("", ""),
            ("plain", "plain"),
            ("a < b && c > d", "a < b && c > d"),
            ("</p></ul></a></pre></svg>x", "x"),
            ("<svg><svg>no</svg>no</svg>yes", "yes"),
            ("<svg/>yes", "yes"),
            ("<script>never closed <p>x", ""),
            ("<p", ""),
            ("x<a href='/y", "x"),
            ("<li>a<li><li>b", "- a\n- b"),
        ] {
            assert_eq!(read(html), text, "{html}");
        }
    }

    #[test]
    fn text_is_cut_at_a_character_boundary() {
        let base = Url::parse("https://example.com/").unwrap();
        assert_eq!(readable("<p>éééé", &base, 5), ("éé".into(), true));
        let links = "<a href=a>x</a>".repeat(10_000);
        let far = Url::parse(&format!("https://example.com/{}/", "d".repeat(900))).unwrap();
        let (text, cut) = readable(&links, &far, 100_000);
        assert!(cut && text.len() <= 100_000);
    }

    #[test]
    fn hostile_depth_takes_linear_time() {
        // A tree builder needs many minutes for all these.
        let started = Instant::now();
        for piece in [
            "<div>",
            "<ul><li>",
            "<b><i>",
            "<table><tr><td>",
            "<a href=x>",
            "<svg>",
            "&",
            "<p a=b c=d>x",
        ] {
            let html = piece.repeat((1 << 20) / piece.len());
            assert!(read(&html).len() <= 1 << 20, "{piece}");
        }
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "{:?}",
            started.elapsed()
        );
    }
}
