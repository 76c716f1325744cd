//! A parsed Rust file, and which lines are tests.

use std::ops::RangeInclusive;

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use syn::{Attribute, Item, spanned::Spanned};

/// A parsed Rust file.
pub struct Source {
    /// Path relative to the root.
    pub path: String,
    /// How many lines there are.
    pub lines: usize,
    /// The file's first line.
    pub first_line: String,
    /// Parsed syntax tree.
    pub syntax: syn::File,
    /// The file's tokens; macro arguments have no syntax.
    pub tokens: TokenStream,
    /// Lines that are compiled for tests only.
    pub test_lines: Vec<RangeInclusive<usize>>,
}

impl Source {
    /// Parses a Rust file.
    pub fn parse(path: &str, text: &str) -> Result<Self> {
        let parsed = text.parse().map_err(syn::Error::from);
        let parsed =
            parsed.and_then(|tokens: TokenStream| Ok((syn::parse2(tokens.clone())?, tokens)));
        let (syntax, tokens): (syn::File, _) =
            parsed.with_context(|| format!("{path} cannot be parsed"))?;
        let lines = text.lines().count();
        let test_lines = if is_test_path(path) {
            std::iter::once(1..=lines).collect()
        } else {
            syntax
                .items
                .iter()
                .filter(|item| is_test(attributes(item)))
                .map(line_range)
                .collect()
        };
        let first_line = text.lines().next().unwrap_or_default().to_owned();
        Ok(Self {
            path: path.to_owned(),
            lines,
            first_line,
            syntax,
            tokens,
            test_lines,
        })
    }

    /// Returns whether a line is compiled for tests only.
    pub fn is_test_line(&self, line: usize) -> bool {
        self.test_lines.iter().any(|range| range.contains(&line))
    }

    /// Returns how many lines are shipped.
    pub fn shipped_lines(&self) -> usize {
        (1..=self.lines)
            .filter(|line| !self.is_test_line(*line))
            .count()
    }
}

/// Returns whether a file contains only tests, by path.
fn is_test_path(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    // The root folder `tests` contains crates. Tests are in those crates' `tests` folders.
    let within_crate = folder.strip_prefix("tests/").unwrap_or(folder);
    within_crate.split('/').any(|part| part == "tests")
        || name == "tests.rs"
        || name.ends_with("_tests.rs")
}

/// Returns whether attributes restrict an item to tests.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            names(&list.tokens, "test") && !names(&list.tokens, "not")
        }
        meta => meta
            .path()
            .segments
            .last()
            .is_some_and(|last| last.ident == "test"),
    })
}

/// Calls `see` with the tokens, and with each group's tokens at any depth.
pub(crate) fn each_group(tokens: &TokenStream, see: &mut impl FnMut(&[TokenTree])) {
    let tokens: Vec<_> = tokens.clone().into_iter().collect();
    see(&tokens);
    for token in &tokens {
        if let TokenTree::Group(group) = token {
            each_group(&group.stream(), see);
        }
    }
}

/// Returns whether an identifier occurs anywhere in the tokens.
pub(crate) fn names(tokens: &TokenStream, wanted: &str) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == wanted,
        TokenTree::Group(group) => names(&group.stream(), wanted),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

fn line_range(item: &Item) -> RangeInclusive<usize> {
    let span = item.span();
    span.start().line..=span.end().line
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_lines_are_recognized() {
        let text = "//! x\nfn a() {}\n#[cfg(test)]\nmod t {\n}\n#[cfg(not(test))]\nfn b() {}\n";
        let source = Source::parse("shared/x/src/lib.rs", text).unwrap();
        assert_eq!(source.test_lines, [3..=5]);
        assert_eq!(source.shipped_lines(), 4);
    }

    #[test]
    fn test_files_are_recognized_by_path() {
        let tests = "a/tests/b.rs tests/workerd/tests/x.rs a/src/tests.rs a/src/b_tests.rs a/tests/s/mod.rs";
        assert!(tests.split(' ').all(is_test_path));
        assert!(
            !["a/src/b.rs", "tests/architecture/src/lib.rs"]
                .iter()
                .any(|path| is_test_path(path))
        );
    }
}
