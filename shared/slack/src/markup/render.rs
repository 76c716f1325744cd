//! The conversion of Markdown to Slack's markup.
//!
//! All prose is escaped, so a tag that a model wrote notifies no one. Code is escaped and otherwise unchanged.
//! Lists, quotes and headings become characters, tables become code.

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

use super::{fence, table::Table};
use crate::text::escape;

/// Spaces by which a list is indented per level.
const INDENT: &str = "    ";
/// Levels beyond which nested lists are not indented further.
const INDENT_MAX_LEVELS: usize = 8;
/// Bullets by level; deeper lists have the last.
const BULLETS: [&str; 3] = ["• ", "◦ ", "▪ "];
/// A thematic break.
const RULE: &str = "──────────";
/// Slack reads a style's mark only beside a word's end. A zero width space ends a word invisibly.
const WORD_END: char = '\u{200b}';
/// Schemes of links. Slack reads other targets, such as `!channel`, as commands.
const SCHEMES: [&str; 4] = ["https://", "http://", "mailto:", "tel:"];
/// Characters in addresses that end a link or begin code.
const ENCODED: [char; 4] = ['<', '>', '|', '`'];

/// Converts Markdown to Slack's markup.
pub fn to_mrkdwn(markdown: &str) -> String {
    let options =
        Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    let mut renderer = Renderer::new();
    for event in Parser::new_ext(markdown, options) {
        renderer.event(event);
    }
    renderer.out.trim_end().to_owned()
}

/// A link or image, while the text is being read.
struct Link {
    url: String,
    text: String,
    /// Images inside the link, which only contribute their text.
    nested: usize,
}

struct Renderer {
    out: String,
    /// The current line is empty, without its prefix.
    is_fresh: bool,
    /// The previous line is blank.
    is_after_blank: bool,
    /// A style ended here.
    is_after_mark: bool,
    quotes: usize,
    /// Open lists with the next number of a numbered one.
    lists: Vec<Option<u64>>,
    /// The item's bullet, until its first text.
    bullet: Option<String>,
    /// Open styles: mark, and where its text starts if the mark was written.
    styles: Vec<(char, Option<usize>)>,
    link: Option<Link>,
    table: Option<Table>,
    /// A code or HTML block that is being read.
    block: Option<String>,
}

impl Renderer {
    fn new() -> Self {
        Self {
            out: String::new(),
            is_fresh: true,
            is_after_blank: true,
            is_after_mark: false,
            quotes: 0,
            lists: Vec::new(),
            bullet: None,
            styles: Vec::new(),
            link: None,
            table: None,
            block: None,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text);
            }
            Event::FootnoteReference(name) => self.text(&name),
            Event::Code(code) => self.code(&code),
            Event::Html(html) => self.text(&html),
            Event::InlineHtml(html) => self.inline_html(&html),
            Event::SoftBreak | Event::HardBreak => self.line_break(),
            Event::Rule => {
                self.begin_block();
                self.push(RULE);
            }
            Event::TaskListMarker(is_done) => self.task(is_done),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.begin_block(),
            Tag::Heading { .. } => {
                self.begin_block();
                self.open('*');
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.quotes += 1;
            }
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) | Tag::HtmlBlock => {
                self.block = Some(String::new());
            }
            Tag::List(first) => {
                self.flush_bullet();
                self.begin_block();
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Table(alignments) => {
                self.table = Some(Table {
                    alignments,
                    ..Table::default()
                });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.open('_'),
            Tag::Strong => self.open('*'),
            Tag::Strikethrough => self.open('~'),
            Tag::Link {
                link_type,
                dest_url,
                ..
            } => self.begin_link(link_type, &dest_url),
            Tag::Image {
                link_type,
                dest_url,
                ..
            } => self.begin_link(link_type, &dest_url),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) | TagEnd::Strong => self.close('*'),
            TagEnd::Emphasis => self.close('_'),
            TagEnd::Strikethrough => self.close('~'),
            TagEnd::BlockQuote(_) => {
                self.end_line();
                self.quotes -= 1;
            }
            TagEnd::CodeBlock => {
                let code = self.block.take().unwrap_or_default();
                self.code_block(&code);
            }
            TagEnd::HtmlBlock => self.html_block(),
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Item => self.flush_bullet(),
            TagEnd::TableCell => {
                if let Some(table) = &mut self.table {
                    table.end_cell();
                }
            }
            TagEnd::Table => {
                let table = self.table.take().unwrap_or_default();
                self.code_block(&table.text());
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    /// Starts a block on a line of its own, after a blank line unless it is in a list.
    fn begin_block(&mut self) {
        self.end_line();
        if self.lists.is_empty() && !self.is_after_blank {
            self.out
                .push_str(if self.quotes > 0 { ">\n" } else { "\n" });
            self.is_after_blank = true;
        }
    }

    fn end_line(&mut self) {
        if !self.is_fresh {
            self.out.push('\n');
            self.is_fresh = true;
        }
    }

    /// Writes the line's prefix once.
    fn begin_line(&mut self) {
        if !self.is_fresh {
            return;
        }
        self.is_fresh = false;
        self.is_after_blank = false;
        self.is_after_mark = false;
        if self.quotes > 0 {
            self.out.push_str("> ");
        }
        if let Some(outer) = self.lists.len().checked_sub(1) {
            self.out
                .push_str(&INDENT.repeat(outer.min(INDENT_MAX_LEVELS)));
            let bullet = self.bullet.take();
            self.out.push_str(bullet.as_deref().unwrap_or("  "));
        }
    }

    /// Writes the bullet of an item that does not begin with text.
    fn flush_bullet(&mut self) {
        if self.bullet.is_some() {
            self.begin_line();
        }
    }

    fn item(&mut self) {
        self.end_line();
        let level = self.lists.len().clamp(1, BULLETS.len());
        self.bullet = Some(match self.lists.last_mut() {
            Some(Some(number)) => {
                let bullet = format!("{number}. ");
                *number = number.saturating_add(1);
                bullet
            }
            _ => BULLETS[level - 1].to_owned(),
        });
    }

    fn task(&mut self, is_done: bool) {
        let mark = if is_done { "☑ " } else { "☐ " };
        let is_numbered = matches!(self.lists.last(), Some(Some(_)));
        self.bullet = match self.bullet.take() {
            Some(number) if is_numbered => Some(number + mark),
            _ => Some(mark.to_owned()),
        };
    }

    fn text(&mut self, text: &str) {
        if let Some(block) = &mut self.block {
            block.push_str(text);
        } else if let Some(plain) = self.plain() {
            plain.push_str(text);
        } else {
            self.push(&escape(text));
        }
    }

    /// Returns where text without styles is collected: a link's text, or a table's cell.
    fn plain(&mut self) -> Option<&mut String> {
        match (&mut self.link, &mut self.table) {
            (Some(link), _) => Some(&mut link.text),
            (None, Some(table)) => Some(&mut table.cell),
            (None, None) => None,
        }
    }

    /// Appends markup to the line.
    fn push(&mut self, markup: &str) {
        self.begin_line();
        if self.is_after_mark && markup.starts_with(char::is_alphanumeric) {
            self.out.push(WORD_END);
        }
        self.is_after_mark = false;
        self.out.push_str(markup);
    }

    fn code(&mut self, code: &str) {
        if let Some(plain) = self.plain() {
            plain.push_str(code);
            return;
        }
        self.separate_word();
        self.push(&format!("`{}`", fence::inline(code)));
        self.is_after_mark = true;
    }

    fn separate_word(&mut self) {
        if !self.is_fresh && self.out.ends_with(char::is_alphanumeric) {
            self.out.push(WORD_END);
        }
    }

    /// Begins a style. Slack has none inside the same style, inside links and inside code.
    fn open(&mut self, mark: char) {
        let is_open = self
            .styles
            .iter()
            .any(|(open, start)| *open == mark && start.is_some());
        let start = if is_open || self.plain().is_some() {
            None
        } else {
            self.separate_word();
            self.push(&mark.to_string());
            Some(self.out.len())
        };
        self.styles.push((mark, start));
    }

    fn close(&mut self, mark: char) {
        let Some((_, Some(start))) = self.styles.pop() else {
            return;
        };
        if self.out.len() == start {
            self.out.truncate(start - mark.len_utf8());
        } else {
            self.out.push(mark);
            self.is_after_mark = true;
        }
    }

    /// Breaks the line, except where Slack ends a style with it.
    fn line_break(&mut self) {
        if let Some(plain) = self.plain() {
            plain.push(' ');
        } else if self.styles.iter().any(|(_, start)| start.is_some()) {
            self.push(" ");
        } else {
            self.end_line();
        }
    }

    fn inline_html(&mut self, html: &str) {
        let name = html.trim_matches(['<', '>', '/', ' ']);
        if name.eq_ignore_ascii_case("br") {
            self.line_break();
        } else if !is_comment(html) {
            self.text(html);
        }
    }

    fn html_block(&mut self) {
        let html = self.block.take().unwrap_or_default();
        let html = html.trim();
        if html.is_empty() || is_comment(html) {
            return;
        }
        self.begin_block();
        for line in html.lines() {
            self.push(&escape(line));
            self.end_line();
        }
    }

    /// Writes a code block. Slack shows none inside a quote or a list.
    fn code_block(&mut self, code: &str) {
        if code.trim().is_empty() {
            return;
        }
        self.flush_bullet();
        self.begin_block();
        self.out.push_str(&fence::block(code));
        self.is_fresh = false;
        self.is_after_blank = false;
    }

    fn begin_link(&mut self, link_type: LinkType, url: &str) {
        if let Some(link) = &mut self.link {
            link.nested += 1;
            return;
        }
        let scheme = if link_type == LinkType::Email {
            "mailto:"
        } else {
            ""
        };
        self.link = Some(Link {
            url: format!("{scheme}{url}"),
            text: String::new(),
            nested: 0,
        });
    }

    fn end_link(&mut self) {
        let Some(mut link) = self.link.take() else {
            return;
        };
        if link.nested > 0 {
            link.nested -= 1;
            self.link = Some(link);
            return;
        }
        let words: Vec<_> = link.text.split_whitespace().collect();
        let text = words.join(" ");
        let is_own_address = link.url.trim_start_matches("mailto:") == text;
        let address = address(&link.url).filter(|_| self.table.is_none());
        match address {
            Some(address) if text.is_empty() || is_own_address => {
                self.push(&format!("<{address}>"));
            }
            Some(address) => self.push(&format!("<{address}|{}>", escape(&text))),
            None if is_own_address || link.url.is_empty() || link.url.starts_with('#') => {
                self.text(&text);
            }
            None if text.is_empty() => self.text(&link.url),
            None => self.text(&format!("{text} ({})", link.url)),
        }
    }
}

/// Returns the address for use in a link, or `None` if Slack would not read it as one.
fn address(url: &str) -> Option<String> {
    let has_scheme = |scheme: &&str| {
        let start = url.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme)) && url.len() > scheme.len()
    };
    SCHEMES.iter().find(|scheme| has_scheme(scheme))?;
    let mut address = String::with_capacity(url.len());
    for c in url.chars() {
        if c.is_whitespace() || c.is_control() || ENCODED.contains(&c) {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                address.push_str(&format!("%{byte:02X}"));
            }
        } else {
            address.push(c);
        }
    }
    Some(escape(&address))
}

fn is_comment(html: &str) -> bool {
    html.starts_with("<!--") && html.ends_with("-->")
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
