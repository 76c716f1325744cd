//! Text of a message as its author wrote it, and text that Slack shows literally.
//!
//! Slack encodes `&`, `<` and `>` everywhere, code included, and puts mentions and links into angle brackets.
//! Decoding is a single pass, so text that merely looks encoded stays as it was written.
//! Not here: Markdown (`markup`).

/// Start of a footer that names the app through which a person posted.
const FOOTER: &str = "Sent using";
/// Characters around a footer and its parts.
const FOOTER_MARKS: [char; 6] = ['*', '_', '[', ']', '(', ')'];
/// Maximum words in a footer's app name: a longer line is a sentence.
const FOOTER_MAX_WORDS: usize = 4;
/// Prefixes of a link's address that Slack adds to an address without them.
const ADDED_PREFIXES: [&str; 4] = ["http://", "https://", "mailto:", "tel:"];
/// Slack's entities.
const ENTITIES: [(&str, char); 3] = [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>')];

/// A part of an encoded text.
enum Piece<'a> {
    /// Text with entities.
    Text(&'a str),
    /// The content of angle brackets.
    Tag(&'a str),
}

/// Returns the request in a message: decoded, without mentions of the bot and trailing app footers.
pub fn request_text(raw: &str, bot_user: &str) -> String {
    let text = without_mentions(raw, bot_user);
    decode(without_footers(&text)).trim().to_owned()
}

/// Returns whether an encoded text mentions a user.
pub fn mentions(raw: &str, user: &str) -> bool {
    pieces(raw)
        .iter()
        .any(|piece| matches!(piece, Piece::Tag(tag) if is_mention(tag, user)))
}

/// Decodes mentions, links and entities to the text that its author sees.
pub fn decode(raw: &str) -> String {
    let decoded = pieces(raw).into_iter().map(|piece| match piece {
        Piece::Text(text) => unescape(text),
        Piece::Tag(tag) => decode_tag(tag),
    });
    decoded.collect()
}

/// Encodes text that Slack shows literally: code, titles, names.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match ENTITIES.iter().find(|(_, plain)| *plain == c) {
            Some((entity, _)) => escaped.push_str(entity),
            None => escaped.push(c),
        }
    }
    escaped
}

fn pieces(raw: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut rest = raw;
    while let Some(start) = rest.find('<') {
        let inner = &rest[start + 1..];
        match inner.find(['<', '>']) {
            Some(end) if inner[end..].starts_with('>') => {
                found.push(Piece::Text(&rest[..start]));
                found.push(Piece::Tag(&inner[..end]));
                rest = &inner[end + 1..];
            }
            // A bracket that nothing closes is text.
            Some(next) => {
                found.push(Piece::Text(&rest[..=start + next]));
                rest = &inner[next..];
            }
            None => break,
        }
    }
    found.push(Piece::Text(rest));
    found
}

fn is_mention(tag: &str, user: &str) -> bool {
    let id = tag.strip_prefix('@').and_then(|tag| tag.split('|').next());
    id == Some(user)
}

fn without_mentions(raw: &str, user: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut is_after_mention = false;
    for piece in pieces(raw) {
        match piece {
            Piece::Tag(tag) if is_mention(tag, user) => is_after_mention = true,
            Piece::Tag(tag) => {
                text.push_str(&format!("<{tag}>"));
                is_after_mention = false;
            }
            Piece::Text(part) if is_after_mention => {
                text.push_str(after_mention(&text, part));
                is_after_mention = part.is_empty();
            }
            Piece::Text(part) => text.push_str(part),
        }
    }
    text
}

/// Returns the part without the blanks, and the address mark, that belong to a removed mention.
fn after_mention<'a>(before: &str, part: &'a str) -> &'a str {
    if before.trim().is_empty() {
        let unmarked = part.strip_prefix([',', ':']).unwrap_or(part);
        let is_mark = unmarked.is_empty() || unmarked.starts_with(char::is_whitespace);
        if is_mark { unmarked.trim_start() } else { part }
    } else if before.ends_with(char::is_whitespace) {
        part.trim_start_matches(' ')
    } else {
        part
    }
}

fn without_footers(text: &str) -> &str {
    let mut text = text.trim_end();
    while let Some(start) = footer_start(text) {
        text = text[..start].trim_end();
    }
    text
}

/// Returns where the last line's footer starts. Only one in bold or brackets may follow other text.
fn footer_start(text: &str) -> Option<usize> {
    let line_start = text.rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[line_start..];
    let at = line.rfind(FOOTER)?;
    let before = line[..at].trim_end_matches(FOOTER_MARKS);
    let is_marked = before.len() < at && before.ends_with(char::is_whitespace);
    let is_footer = before.trim().is_empty() || is_marked;
    (is_footer && is_app(&line[at + FOOTER.len()..])).then_some(line_start + before.len())
}

/// Returns whether the rest of a footer names an app: a mention, a link, or a short name.
fn is_app(rest: &str) -> bool {
    let is_mark = |c: char| c.is_whitespace() || FOOTER_MARKS.contains(&c);
    let name = rest.trim_matches(is_mark);
    if name.len() == rest.len() && !name.is_empty() {
        return false;
    }
    match pieces(name).as_slice() {
        [Piece::Text(before), Piece::Tag(_), Piece::Text(after)] => {
            before.is_empty() && after.is_empty()
        }
        [Piece::Text(name)] => {
            let is_sentence = name.ends_with(['.', ',', ';', ':', '!', '?']);
            !is_sentence && name.split_whitespace().count() <= FOOTER_MAX_WORDS
        }
        _ => false,
    }
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        plain.push_str(&rest[..start]);
        rest = &rest[start..];
        let entity = ENTITIES.iter().find(|(name, _)| rest.starts_with(name));
        let (name, c) = entity.copied().unwrap_or(("&", '&'));
        plain.push(c);
        rest = &rest[name.len()..];
    }
    plain.push_str(rest);
    plain
}

fn decode_tag(tag: &str) -> String {
    let (target, label) = tag.split_once('|').unwrap_or((tag, ""));
    let label = (!label.is_empty()).then_some(label);
    let named = |sign: char, id: &str| {
        let name = label.unwrap_or(id);
        format!("{sign}{}", name.strip_prefix(sign).unwrap_or(name))
    };
    let decoded = if let Some(user) = target.strip_prefix('@') {
        named('@', user)
    } else if let Some(channel) = target.strip_prefix('#') {
        named('#', channel)
    } else if let Some(date) = target.strip_prefix("!date^") {
        label.unwrap_or(date).to_owned()
    } else if let Some(special) = target.strip_prefix('!') {
        named('@', special.strip_prefix("subteam^").unwrap_or(special))
    } else {
        address(tag, target, label)
    };
    unescape(&decoded)
}

/// Returns a link's address, without a prefix that Slack added.
fn address(tag: &str, target: &str, label: Option<&str>) -> String {
    let prefix = ADDED_PREFIXES
        .iter()
        .find(|prefix| target.starts_with(**prefix));
    let bare = prefix.map_or(target, |prefix| &target[prefix.len()..]);
    if label == Some(bare) {
        // Slack makes a link of `README.md`.
        bare.to_owned()
    } else if target.contains(':') {
        let is_web = target.contains("://");
        (if is_web { target } else { bare }).to_owned()
    } else {
        format!("<{tag}>")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn request_is_what_its_author_wrote() {
        for (raw, text) in [
            ("<@UB> do it", "do it"),
            ("<@UB|ars>  do it", "do it"),
            ("<@UB>: help", "help"),
            ("<@UB>, help", "help"),
            ("<@UB> :tada: done", ":tada: done"),
            ("<@UB>:tada: done", ":tada: done"),
            ("hey <@UB> do it <@UB>", "hey do it"),
            ("a\n<@UB>\nb", "a\n\nb"),
            ("<@UB><@UB> ask <@U2|ann> and <@U3>", "ask @ann and @U3"),
            ("in <#C1|ops>, <#C2> or <#C3|>", "in #ops, #C2 or #C3"),
            (
                "<!channel> <!here|here> <!here|@here>",
                "@channel @here @here",
            ),
            ("<!subteam^S1|@devs> <!subteam^S1>", "@devs @S1"),
            (
                "<!date^1392734382^{date}|Feb 18> <!date^1^{date}>",
                "Feb 18 1^{date}",
            ),
            (
                "<https://x.y/a?b=1&amp;c=2> <https://x.y|this>",
                "https://x.y/a?b=1&c=2 https://x.y",
            ),
            ("fix <http://README.md|README.md>", "fix README.md"),
            (
                "<mailto:a@b.c|a@b.c> <mailto:a@b.c> <tel:123|call>",
                "a@b.c a@b.c 123",
            ),
            (
                "a &lt; b &amp;&amp; c &gt; d &amp;lt; e &quot; &",
                "a < b && c > d &lt; e &quot; &",
            ),
            ("&lt;@UB&gt; stays", "<@UB> stays"),
            (
                "`Vec&lt;T&gt;  x`\n```\n  <https://x.y>  z\n```",
                "`Vec<T>  x`\n```\n  https://x.y  z\n```",
            ),
            ("a < b <c> <", "a < b <c> <"),
            ("a <<@UB> b", "a < b"),
            ("", ""),
        ] {
            assert_eq!(request_text(raw, "UB"), text, "{raw}");
        }
    }

    #[test]
    fn trailing_app_footers_are_removed() {
        for footer in [
            "*Sent using* Claude",
            "*Sent using* <@U5|Claude>",
            "*Sent using <@U5>*",
            "[Sent using Claude Code]",
            "[*Sent using* <https://x.y|App>]",
            "_Sent using_ App",
            "\nSent using Claude",
            "\nSent using Claude\nSent using App\n",
            "\nSent using <@UB>",
            "\n*Sent using* Claude\n<@UB>",
        ] {
            assert_eq!(
                request_text(&format!("do it {footer}"), "UB"),
                "do it",
                "{footer}"
            );
        }
        for text in [
            "the mail was Sent using App",
            "do it\nSent using the new build, it fails",
            "do it\nSent using a lot of long words",
            "do it\nSent usingApp",
            "Sent using App\ndo it",
            "this is*Sent using* App",
        ] {
            assert_eq!(request_text(text, "UB"), text);
        }
    }

    #[test]
    fn mention_is_a_tag() {
        for (raw, is_mentioned) in [
            ("<@UB>", true),
            ("x <@UB|ars> y", true),
            ("<@UB2> @UB UB &lt;@UB&gt; <@UB", false),
        ] {
            assert_eq!(mentions(raw, "UB"), is_mentioned, "{raw}");
        }
    }

    proptest! {
        #[test]
        fn escaped_text_decodes_to_itself(text in "([&<>|@!#]|amp;|lt;|\\PC){0,30}") {
            prop_assert_eq!(decode(&escape(&text)), text);
        }

        #[test]
        fn any_text_is_a_request(text in "(<@UB>|<@UB\\|x>|[<>&|@!#*\\[\\]\n ]|Sent using|App|\\PC){0,20}") {
            let request = request_text(&text, "UB");
            prop_assert_eq!(request.trim(), &request);
        }
    }
}
