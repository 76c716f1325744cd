//! The places in a text that name a repository.
//!
//! Not here: choosing among them (`resolution`).

use ars_types::RepoSlug;

use crate::{
    host::{Host, parse_slug},
    text::code_spans,
};

/// Maximum number of signals read from a text.
const MAX_SIGNALS: usize = 50;
/// Characters before a word that are not part of a name.
const OPENING: &[char] = &['(', '[', '{', '<', '"', '\'', '*', '_', '~', '“', '‘', '«'];
/// Characters behind a word that are not part of a name.
const CLOSING: &[char] = &[
    ')', ']', '}', '>', '"', '\'', '*', '_', '~', '”', '’', '»', ',', '.', ';', ':', '!', '?', '…',
];
/// First path segments that are pages on the host and no owners.
const PAGES: [&str; 16] = [
    "about",
    "apps",
    "collections",
    "enterprise",
    "explore",
    "features",
    "login",
    "marketplace",
    "notifications",
    "orgs",
    "pricing",
    "search",
    "settings",
    "sponsors",
    "topics",
    "users",
];
/// Word before a slug that makes it a workplace.
const PLACE_WORD: &str = "in";

/// How clearly a signal names a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// A slug in prose, which may be a path or two alternatives.
    Weak,
    /// `in owner/name`, which counts if the repository is known.
    Vettable,
    /// An address, or `owner/name#n`.
    Strong,
}

/// A repository that a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// The repository that is named.
    pub repository: RepoSlug,
    /// How clearly it is named.
    pub strength: Strength,
    /// The item in the repository, if the text names any.
    pub item: Option<Item>,
}

/// A numbered item in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item {
    /// Number within the repository.
    pub number: u64,
    /// Kind, as far as the text shows it.
    pub kind: ItemKind,
}

/// An item's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemKind {
    /// `owner/name#n` may be either.
    Either,
    /// The address names an issue.
    Issue,
    /// The address names a pull request.
    PullRequest,
}

/// Returns a text's signals, in order. Words in Markdown code are none.
pub fn signals(text: &str, host: &Host) -> Vec<Signal> {
    let mut code = code_spans(text).into_iter().peekable();
    let (mut found, mut at, mut before) = (Vec::new(), 0, "");
    while let Some(start) = text[at..].find(|char: char| !char.is_whitespace()) {
        let begin = at + start;
        let word = text[begin..]
            .split(char::is_whitespace)
            .next()
            .unwrap_or_default();
        at = begin + word.len();
        while code.next_if(|span| span.end <= begin).is_some() {}
        // Code may also begin inside the word.
        if code.peek().is_some_and(|span| span.start < at) {
            before = "";
            continue;
        }
        found.extend(signal(word, before, host));
        if found.len() >= MAX_SIGNALS {
            break;
        }
        before = word;
    }
    found
}

fn signal(word: &str, before: &str, host: &Host) -> Option<Signal> {
    if let Some(address) = address_in(word) {
        return at_address(address, host);
    }
    let bare = word.trim_start_matches(OPENING).trim_end_matches(CLOSING);
    if let Some((slug, number)) = bare.split_once('#') {
        let item = Item {
            number: number_of(number)?,
            kind: ItemKind::Either,
        };
        return Some(Signal {
            repository: parse_slug(slug)?,
            strength: Strength::Strong,
            item: Some(item),
        });
    }
    let place = before
        .trim_start_matches(OPENING)
        .eq_ignore_ascii_case(PLACE_WORD);
    let strength = if place {
        Strength::Vettable
    } else {
        Strength::Weak
    };
    Some(Signal {
        repository: parse_slug(bare)?,
        strength,
        item: None,
    })
}

/// Returns the address in a word, without the scheme. It may be a Markdown link's target.
fn address_in(word: &str) -> Option<&str> {
    let after = ["https://", "http://"]
        .iter()
        .find_map(|scheme| word.find(scheme).map(|at| at + scheme.len()));
    let ssh = word.find("git@").map(|at| at + "git@".len());
    let rest = &word[after.or(ssh)?..];
    let end = rest
        .find(|char: char| char.is_control() || "()[]<>\"'`*".contains(char))
        .unwrap_or(rest.len());
    Some(rest[..end].trim_end_matches(CLOSING))
}

/// Reads `host/owner/name[/pull/n]`, or git's `host:owner/name`.
fn at_address(address: &str, host: &Host) -> Option<Signal> {
    let path_at = address.find('/')?;
    let (authority, path) = match address[..path_at].split_once(':') {
        Some((name, owner))
            if host.is_at(name) && !owner.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            (name, &address[name.len() + 1..])
        }
        _ => (&address[..path_at], &address[path_at + 1..]),
    };
    if !host.is_at(authority) {
        return None;
    }
    let path = path.split(['?', '#']).next().unwrap_or(path);
    let mut parts = path.split('/');
    let owner = parts.next()?.to_ascii_lowercase();
    if PAGES.contains(&owner.as_str()) {
        return None;
    }
    let repository = parse_slug(&format!("{owner}/{}", parts.next()?))?;
    let kind = match parts.next() {
        Some("pull") => Some(ItemKind::PullRequest),
        Some("issues") => Some(ItemKind::Issue),
        _ => None,
    };
    let number = parts.next().and_then(number_of);
    let item = kind.zip(number).map(|(kind, number)| Item { number, kind });
    Some(Signal {
        repository,
        strength: Strength::Strong,
        item,
    })
}

/// Reads a positive number without leading zeros.
fn number_of(text: &str) -> Option<u64> {
    let is_plain = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
#[path = "signals_tests.rs"]
mod tests;
