//! Citations can be opened: cited headings in `docs/reference` exist, cited documents are in the
//! tree.
//!
//! Public standards (`RFC 9110 section 7.6.1`) may be cited.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use crate::{File, Tree, Violation, at};

/// Folder with the pages that code cites.
const PAGES: &str = "docs/reference/";
/// Citations of documents that are not in the tree, split so that this file does not contain them.
const OUTSIDE: [&str; 4] = [
    concat!(r"\bdocument", r" [12]\b"),
    concat!("supp", "lement"),
    concat!(r"\bstyle", r"\.md\b"),
    r"\bsections? \d",
];
/// Publishers whose standards a line, or the line before, may cite by section.
const STANDARDS: [&str; 4] = ["RFC ", "ECMAScript", "HTML", "W3C"];

/// Reports citations that lead nowhere.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let headings = headings(tree);
    let cited = Regex::new(r"docs/reference/([\w-]+\.md)(?:#([\w-]+))?")
        .unwrap_or_else(|error| broken(&error));
    let outside =
        Regex::new(&format!("(?i){}", OUTSIDE.join("|"))).unwrap_or_else(|error| broken(&error));
    let mut found = Vec::new();
    for file in tree.with_path(|path| {
        !path.ends_with(".lock")
            && !path.ends_with("package-lock.json")
            && !path.starts_with("LICENSE")
    }) {
        let mut before = "";
        for (index, line) in file.text.lines().enumerate() {
            for captures in cited.captures_iter(line) {
                let known = headings.get(&captures[1]);
                let heading = captures.get(2).map(|heading| heading.as_str());
                if !known.is_some_and(|known| heading.is_none_or(|heading| known.contains(heading)))
                {
                    found.push(at(
                        &file.path,
                        index + 1,
                        format!("{} does not exist", &captures[0]),
                    ));
                }
            }
            let is_standard = STANDARDS
                .iter()
                .any(|name| line.contains(name) || before.contains(name));
            if let Some(citation) = outside.find(line).filter(|_| !is_standard) {
                let what = format!(
                    "`{}` cites a document that is not in the tree",
                    citation.as_str()
                );
                found.push(at(&file.path, index + 1, what));
            }
            before = line;
        }
    }
    found.extend(links(tree, &headings));
    found
}

/// Returns each page's headings, as GitHub names them in links.
fn headings(tree: &Tree) -> BTreeMap<&str, BTreeSet<String>> {
    let pages = tree.with_path(|path| path.starts_with(PAGES) && path.ends_with(".md"));
    let of = |file: &File| file.text.lines().filter_map(slug).collect::<BTreeSet<_>>();
    pages
        .map(|file| (file.path.trim_start_matches(PAGES), of(file)))
        .collect()
}

fn slug(line: &str) -> Option<String> {
    let heading = line
        .strip_prefix('#')?
        .trim_start_matches('#')
        .strip_prefix(' ')?;
    let kept = heading
        .trim()
        .chars()
        .filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
    Some(kept.collect::<String>().to_lowercase().replace(' ', "-"))
}

/// Reports links in documents to page headings that do not exist.
fn links(tree: &Tree, headings: &BTreeMap<&str, BTreeSet<String>>) -> Vec<Violation> {
    let link = Regex::new(r"\]\((?:\.\./)?(reference/)?([\w-]+\.md)?#([\w-]+)\)")
        .unwrap_or_else(|error| broken(&error));
    let mut found = Vec::new();
    for file in tree.with_path(|path| path.starts_with("docs/") && path.ends_with(".md")) {
        let is_page = file.path.starts_with(PAGES);
        let own = file.path.rsplit('/').next().unwrap_or_default();
        for (index, line) in file.text.lines().enumerate() {
            for captures in link
                .captures_iter(line)
                .filter(|link| is_page || link.get(1).is_some())
            {
                let page = captures.get(2).map_or(own, |page| page.as_str());
                if !headings
                    .get(page)
                    .is_some_and(|known| known.contains(&captures[3]))
                {
                    found.push(at(
                        &file.path,
                        index + 1,
                        format!("{page}#{} does not exist", &captures[3]),
                    ));
                }
            }
        }
    }
    found
}

fn broken(error: &regex::Error) -> Regex {
    panic!("a constant pattern is broken: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    fn found(code: &str) -> usize {
        let page = "# Ledger\n\n## Step records\n\n[there](#step-records), [here](#ledger)\n";
        check(&planted(&[
            ("a/src/lib.rs", code),
            ("docs/reference/ledger.md", page),
        ]))
        .len()
    }

    #[test]
    fn citations_that_lead_nowhere_are_reported() {
        for code in [
            concat!("//! docs/reference", "/ledger.md#steps"),
            concat!("//! docs/reference", "/gone.md"),
            concat!("//! document", " 1, page 3"),
            concat!("//! bot supp", "lement"),
            concat!("//! house style", ".md"),
            concat!("//! as in section", " 3.2"),
        ] {
            assert_eq!(found(code), 1, "{code}");
        }
    }

    #[test]
    fn headings_and_standards_may_be_cited() {
        for code in [
            concat!("//! docs/reference", "/ledger.md#step-records"),
            "//! docs/reference/ledger.md",
            concat!("//! RFC 9110 section", " 7.6.1"),
            "//! This section of the page.",
        ] {
            assert_eq!(found(code), 0, "{code}");
        }
    }

    #[test]
    fn links_between_pages_are_checked() {
        let page = "# A\n\n[gone](#gone), [other](ledger.md#b)\n";
        let tree = planted(&[
            (concat!("docs/reference", "/a.md"), page),
            ("docs/reference/ledger.md", "# B\n"),
        ]);
        assert_eq!(
            check(&tree),
            [concat!(
                "docs/reference",
                "/a.md:3: a.md#gone does not exist"
            )]
        );
    }
}
