//! Each test that a document names exists, and each incident has a row with a test.

use std::collections::BTreeSet;

use syn::{Attribute, Item};

use crate::{Tree, Violation, at};

/// The notes on the platform, which name their tests.
const PLATFORM: &str = "docs/platform.md";
/// Resident incidents and faults. A row's last cell has the tests.
const INCIDENTS: &str = "docs/reference/resident-incidents.md";
/// Incidents that are known.
const INCIDENTS_COUNT: usize = 46;
/// Underscores from which a name in the notes on the platform is a test's.
const MIN_UNDERSCORES: usize = 3;

/// Reports missing tests and missing rows.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let tests = tests(tree);
    let mut found = platform(tree, &tests);
    found.extend(incidents(tree, &tests));
    found
}

/// Returns all test names, also in macros such as `proptest!`.
fn tests(tree: &Tree) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for source in &tree.sources {
        collect(&source.syntax.items, &mut names);
    }
    names
}

fn collect(items: &[Item], names: &mut BTreeSet<String>) {
    for item in items {
        match item {
            Item::Fn(item) if item.attrs.iter().any(is_test) => {
                names.insert(item.sig.ident.to_string());
            }
            Item::Mod(item) => {
                collect(
                    item.content
                        .as_ref()
                        .map_or(&[][..], |(_, items)| items.as_slice()),
                    names,
                );
            }
            // Functions in `proptest!` are tests by their attribute, which is a token here.
            Item::Macro(item) => {
                let text = item.mac.tokens.to_string();
                for after in text.split("# [test]").skip(1) {
                    let name = after.trim_start().strip_prefix("fn ").unwrap_or_default();
                    names.extend(name.split([' ', '(']).next().map(str::to_owned));
                }
            }
            _ => {}
        }
    }
}

fn is_test(attribute: &Attribute) -> bool {
    attribute
        .path()
        .segments
        .last()
        .is_some_and(|last| last.ident == "test")
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn platform(tree: &Tree, tests: &BTreeSet<String>) -> Vec<Violation> {
    let Some(notes) = tree.text(PLATFORM) else {
        return Vec::new();
    };
    let is_name = |text: &str| {
        text.matches('_').count() >= MIN_UNDERSCORES
            && text == text.to_lowercase()
            && !text.contains(['/', ' ', '.'])
    };
    let lines = notes.lines().enumerate();
    let named = lines.flat_map(|(index, line)| quoted(line).map(move |name| (index, name)));
    let missing = named.filter(|(_, name)| is_name(name) && !tests.contains(*name));
    missing
        .map(|(index, name)| at(PLATFORM, index + 1, format!("no test is called `{name}`")))
        .collect()
}

fn incidents(tree: &Tree, tests: &BTreeSet<String>) -> Vec<Violation> {
    let Some(page) = tree.text(INCIDENTS) else {
        return Vec::new();
    };
    let (mut found, mut number) = (Vec::new(), 0);
    for (index, line) in page.lines().enumerate() {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let is_row = line.starts_with("| ") && cells.last() != Some(&"Tests");
        if !is_row {
            continue;
        }
        if let Ok(row) = cells[0].parse::<usize>() {
            number += 1;
            if row != number {
                found.push(at(
                    INCIDENTS,
                    index + 1,
                    format!("this row should have the number {number}"),
                ));
            }
        }
        let names: Vec<&str> = cells
            .last()
            .map_or_else(Vec::new, |cell| quoted(cell).collect());
        if names.is_empty() {
            found.push(at(INCIDENTS, index + 1, "this row names no test"));
        }
        let missing = names.into_iter().filter(|name| !tests.contains(*name));
        found.extend(
            missing.map(|name| at(INCIDENTS, index + 1, format!("no test is called `{name}`"))),
        );
    }
    if number != INCIDENTS_COUNT {
        found.push(at(
            INCIDENTS,
            1,
            format!("{number} incidents instead of {INCIDENTS_COUNT}"),
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    const TESTS: &str = "//! x\n#[test]\nfn a_test_that_is() {}\nfn a_fn_that_is() {}\n\
                         mod t { proptest! { #[test] fn inner(a in 0..1) {} } }\n";

    #[test]
    fn unknown_test_of_the_platform_notes_is_reported() {
        let notes = "`a_test_that_is_gone`, `a_test_that_is`, `two_words`, `a_fn_that_is`\n";
        let tree = planted(&[(PLATFORM, notes), ("a/src/lib.rs", TESTS)]);
        let missing = ["a_test_that_is_gone", "a_fn_that_is"];
        assert_eq!(
            check(&tree),
            missing.map(|name| format!("{PLATFORM}:1: no test is called `{name}`"))
        );
    }

    #[test]
    fn incomplete_incidents_are_reported() {
        let rows = |edit: &str| {
            let rows =
                (1..=INCIDENTS_COUNT).map(|number| format!("| {number} | a | b | `inner` |\n"));
            let page = format!(
                "# x\n\n| # | What | Rule | Tests |\n|---|---|---|---|\n{}",
                rows.collect::<String>()
            );
            let page = match edit.split_once("=>") {
                Some((old, new)) => page.replacen(old, new, 1),
                None => page,
            };
            check(&planted(&[(INCIDENTS, &page), ("a/src/lib.rs", TESTS)])).len()
        };
        assert_eq!(rows(""), 0);
        assert_eq!(rows("| 7 | a | b | `inner` |=>| 7 | a | b | `gone` |"), 1);
        assert_eq!(rows("| 7 | a | b | `inner` |=>| 7 | a | b | none |"), 1);
        assert_eq!(rows("| 46 | a | b | `inner` |=>"), 1);
        assert_eq!(
            rows("| 7 | a | b | `inner` |\n=>"),
            40,
            "each later row has another number"
        );
    }
}
