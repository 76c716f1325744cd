//! One parsed Rust file, and which of its lines are tests.

use std::ops::RangeInclusive;

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use syn::{Attribute, Item, spanned::Spanned};

/// A Rust file.
pub struct Source {
    /// Its path from the root.
    pub path: String,
    /// How many lines it has.
    pub lines: usize,
    /// Its first line.
    pub first_line: String,
    /// Its syntax.
    pub syntax: syn::File,
    /// Lines that are compiled for tests only.
    pub test_lines: Vec<RangeInclusive<usize>>,
}

impl Source {
    /// Parses a file.
    pub fn parse(path: &str, text: &str) -> Result<Self> {
        let syntax = syn::parse_file(text).with_context(|| format!("{path} cannot be parsed"))?;
        let lines = text.lines().count();
        let test_lines = if is_test_path(path) {
            std::iter::once(1..=lines).collect()
        } else {
            syntax.items.iter().filter(|item| is_test(attributes(item))).map(line_range).collect()
        };
        let first_line = text.lines().next().unwrap_or_default().to_owned();
        Ok(Self { path: path.to_owned(), lines, first_line, syntax, test_lines })
    }

    /// Whether a line is compiled for tests only.
    pub fn is_test_line(&self, line: usize) -> bool {
        self.test_lines.iter().any(|range| range.contains(&line))
    }

    /// How many lines are shipped.
    pub fn shipped_lines(&self) -> usize {
        (1..=self.lines).filter(|line| !self.is_test_line(*line)).count()
    }
}

/// Whether a file holds nothing but tests, by the names this project gives such files.
fn is_test_path(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    // The folder at the root holds crates; theirs, like any crate's, holds tests.
    let within_crate = folder.strip_prefix("tests/").unwrap_or(folder);
    within_crate.split('/').any(|part| part == "tests") || name == "tests.rs" || name.ends_with("_tests.rs")
}

/// Whether attributes limit an item to tests.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            names(&list.tokens, "test") && !names(&list.tokens, "not")
        }
        meta => meta.path().segments.last().is_some_and(|last| last.ident == "test"),
    })
}

/// Whether an identifier occurs anywhere in the tokens.
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
    fn only_what_is_compiled_for_tests_counts_as_such() {
        let text = "//! x\nfn a() {}\n#[cfg(test)]\nmod t {\n}\n#[cfg(not(test))]\nfn b() {}\n";
        let source = Source::parse("shared/x/src/lib.rs", text).unwrap();
        assert_eq!(source.test_lines, [3..=5]);
        assert_eq!(source.shipped_lines(), 4);
    }

    #[test]
    fn test_files_are_known_by_their_place_or_name() {
        let tests = [
            "a/tests/b.rs",
            "tests/workerd/tests/x.rs",
            "a/src/tests.rs",
            "a/src/b_tests.rs",
            "a/tests/s/mod.rs",
        ];
        assert!(tests.iter().all(|path| is_test_path(path)));
        assert!(!["a/src/b.rs", "tests/architecture/src/lib.rs"].iter().any(|path| is_test_path(path)));
    }
}
