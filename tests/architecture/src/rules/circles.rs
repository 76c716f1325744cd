//! No import circle has more than three files, in any shipped crate.
//!
//! Files in a circle can only be understood, moved and changed together. An import or a path, also
//! in a macro's tokens, is resolved to the file that defines the item, through imported modules and
//! re-exports in `mod.rs` files. Test code is ignored.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Item, UseTree};

use crate::{Source, Tree, Violation};

/// Maximum files in a circle.
const CIRCLE_FILES: usize = 3;
/// Maximum imports that a path is resolved through, because a name may be bound to itself.
const MAX_IMPORTS: usize = 8;
/// Folders with shipped crates.
const SHIPPED: [&str; 4] = ["shared/", "durable-objects/", "workers/", "containers/"];

/// Names import circles with too many files.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (root, sources) in by_crate(tree) {
        if !SHIPPED.iter().any(|folder| root.starts_with(folder)) {
            continue;
        }
        for circle in circles(&file_imports(root, &sources)) {
            let files = circle.len();
            if files > CIRCLE_FILES {
                let names: Vec<_> = circle.into_iter().collect();
                found.push(format!(
                    "{root}: {files} files import each other in a circle: {}",
                    names.join(", ")
                ));
            }
        }
    }
    found
}

/// Returns each crate's sources by its folder, without files that are tests only.
pub(super) fn by_crate(tree: &Tree) -> BTreeMap<&str, Vec<&Source>> {
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in &tree.sources {
        if let Some((root, _)) = source.path.split_once("/src/")
            && !source.is_test_line(1)
        {
            crates.entry(root).or_default().push(source);
        }
    }
    crates
}

/// Returns the files that each file in a crate imports items from.
pub(super) fn file_imports<'a>(
    root: &str,
    sources: &[&'a Source],
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let modules = Modules::new(root, sources);
    modules
        .by_path
        .iter()
        .map(|(module, source)| (source.path.as_str(), modules.imports(module, source)))
        .collect()
}

/// A module's path from the crate's root.
type ModulePath = Vec<String>;

/// A crate's modules, each in a file.
struct Modules<'a> {
    by_path: BTreeMap<ModulePath, &'a Source>,
    /// Each module's imports by the name they bind, for re-exports.
    bound: BTreeMap<ModulePath, BTreeMap<String, ModulePath>>,
}

impl<'a> Modules<'a> {
    fn new(root: &str, sources: &[&'a Source]) -> Self {
        let by_path: BTreeMap<_, _> = sources
            .iter()
            .filter_map(|source| {
                let inner = source
                    .path
                    .strip_prefix(root)?
                    .strip_prefix("/src/")?
                    .strip_suffix(".rs")?;
                let mut path: ModulePath = inner.split('/').map(str::to_owned).collect();
                if path
                    .last()
                    .is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str()))
                {
                    path.pop();
                }
                Some((path, *source))
            })
            .collect();
        let bound = by_path
            .iter()
            .map(|(path, source)| (path.clone(), bindings(source)))
            .collect();
        Self { by_path, bound }
    }

    /// Returns the files that a module imports items from.
    fn imports(&self, module: &[String], source: &Source) -> BTreeSet<&'a str> {
        let mut paths = Paths {
            source,
            found: Vec::new(),
        };
        paths.visit_file(&source.syntax);
        let files = paths
            .found
            .iter()
            .filter_map(|path| self.file_of(module, path, 0));
        files.filter(|file| *file != source.path).collect()
    }

    /// Returns the file that defines the item at this path, or the module itself.
    fn file_of(&self, from: &[String], path: &[String], depth: usize) -> Option<&'a str> {
        let mut at = from.to_vec();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                at.clear();
                rest = &path[1..];
            }
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|part| part == "super") {
                    at.pop()?;
                    rest = &rest[1..];
                }
            }
            child => {
                let mut below = at.clone();
                below.push(child.to_owned());
                if !self.by_path.contains_key(&below) {
                    // An imported module or item: `use crate::a; a::f()`.
                    let imported = self
                        .bound
                        .get(&at)?
                        .get(child)
                        .filter(|_| depth < MAX_IMPORTS)?;
                    let full = [imported.as_slice(), &path[1..]].concat();
                    return self.file_of(from, &full, depth + 1);
                }
            }
        }
        while let Some((next, after)) = rest.split_first() {
            at.push(next.clone());
            if self.by_path.contains_key(&at) {
                rest = after;
                continue;
            }
            at.pop();
            // An item in `at`: its own, or an item that it imports from another file in the crate.
            let imported = self.bound.get(&at).and_then(|bound| bound.get(next));
            if let Some(imported) = imported.filter(|_| depth < MAX_IMPORTS)
                && let Some(file) = self.file_of(&at, imported, depth + 1)
            {
                return Some(file);
            }
            break;
        }
        self.by_path.get(&at).map(|source| source.path.as_str())
    }
}

/// Returns the names that a file's imports bind, with their paths.
fn bindings(source: &Source) -> BTreeMap<String, ModulePath> {
    let mut bound = BTreeMap::new();
    for item in &source.syntax.items {
        if let Item::Use(item) = item {
            flatten(&item.tree, &mut Vec::new(), &mut |name, path| {
                bound.insert(name.to_owned(), path.to_vec());
            });
        }
    }
    bound
}

/// Calls `found` with the bound name and path for each import in a tree.
fn flatten(tree: &UseTree, prefix: &mut ModulePath, found: &mut impl FnMut(&str, &[String])) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            flatten(&path.tree, prefix, found);
            prefix.pop();
        }
        UseTree::Name(name) if name.ident == "self" => {
            found(&prefix.last().cloned().unwrap_or_default(), prefix);
        }
        UseTree::Name(name) => {
            prefix.push(name.ident.to_string());
            found(&name.ident.to_string(), prefix);
            prefix.pop();
        }
        UseTree::Rename(rename) => {
            if rename.ident != "self" {
                prefix.push(rename.ident.to_string());
            }
            found(&rename.rename.to_string(), prefix);
            if rename.ident != "self" {
                prefix.pop();
            }
        }
        UseTree::Glob(_) => found("*", prefix),
        UseTree::Group(group) => group
            .items
            .iter()
            .for_each(|tree| flatten(tree, prefix, found)),
    }
}

/// Collects the paths in shipped code that can lead to another file in the crate.
struct Paths<'a> {
    source: &'a Source,
    found: Vec<ModulePath>,
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let line = syn::spanned::Spanned::span(item).start().line;
        if !self.source.is_test_line(line) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        // A re-export is resolved where it is used.
        if matches!(item.vis, syn::Visibility::Inherited) {
            flatten(&item.tree, &mut Vec::new(), &mut |_, path| {
                self.found.push(path.to_vec());
            });
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            self.found.push(
                path.segments
                    .iter()
                    .map(|segment| segment.ident.to_string())
                    .collect(),
            );
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        paths_in(call.tokens.clone(), &mut self.found);
    }
}

/// Adds the paths in a macro's tokens: names joined by `::`.
fn paths_in(tokens: TokenStream, found: &mut Vec<ModulePath>) {
    let mut path = ModulePath::new();
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => {
                colons += 1;
                continue;
            }
            TokenTree::Ident(name) if colons == 2 => path.push(name.to_string()),
            other => {
                found.push(std::mem::take(&mut path));
                match other {
                    TokenTree::Ident(name) => path.push(name.to_string()),
                    TokenTree::Group(group) => paths_in(group.stream(), found),
                    TokenTree::Punct(_) | TokenTree::Literal(_) => {}
                }
            }
        }
        colons = 0;
    }
    found.push(path);
    found.retain(|path| path.len() > 1);
}

/// Returns the groups of files or modules that reach each other.
pub(super) fn circles<'a>(
    imports: &BTreeMap<&'a str, BTreeSet<&'a str>>,
) -> BTreeSet<BTreeSet<&'a str>> {
    let reach: BTreeMap<&'a str, _> = imports
        .keys()
        .map(|file| (*file, reached(file, imports)))
        .collect();
    let is_reached_by =
        |file: &str, from: &str| reach.get(from).is_some_and(|files| files.contains(file));
    let circle = |(file, files): (&&'a str, &BTreeSet<&'a str>)| {
        files
            .iter()
            .copied()
            .filter(|other| is_reached_by(file, other))
            .collect()
    };
    reach.iter().map(circle).collect()
}

fn reached<'a>(from: &'a str, imports: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(file) = open.pop() {
        let next = imports.get(file).into_iter().flatten().copied();
        open.extend(next.filter(|next| seen.insert(*next)));
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    /// A circle with four files, closed by the given last file.
    fn with_last(last: &str) -> Vec<Violation> {
        check(&planted(&[
            ("shared/x/src/lib.rs", "//! x\nmod a;\nmod b;\nmod c;\n"),
            ("shared/x/src/a.rs", "//! x\nuse crate::b::B;\n"),
            ("shared/x/src/b.rs", "//! x\nfn f() { super::c::g(); }\n"),
            (
                "shared/x/src/c/mod.rs",
                "//! x\nmod d;\npub use d::D;\npub fn g() -> D { self::d::D }\n",
            ),
            ("shared/x/src/c/d.rs", last),
        ]))
    }

    #[test]
    fn circle_of_four_files_is_named() {
        for last in [
            "//! x\nuse crate::a;\n",
            "//! x\nfn f() -> crate::a::A { loop {} }\n",
        ] {
            let found = with_last(last);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].starts_with("shared/x: 4 files"), "{found:?}");
        }
    }

    /// A circle with four files, closed by the given first file through a re-export of `c`.
    fn with_first(first: &str) -> Vec<Violation> {
        check(&planted(&[
            ("shared/x/src/a.rs", first),
            ("shared/x/src/b.rs", "//! x\nuse crate::a::A;\n"),
            (
                "shared/x/src/c/mod.rs",
                "//! x\nmod d;\nmod e;\npub use d::D;\n",
            ),
            ("shared/x/src/c/d.rs", "//! x\nuse super::e::E;\n"),
            ("shared/x/src/c/e.rs", "//! x\nuse crate::b::B;\n"),
        ]))
    }

    #[test]
    fn path_through_an_imported_module_is_followed() {
        for first in [
            "//! x\nuse crate::c;\nfn f() { c::D::new() }\n",
            "//! x\nuse crate::c as other;\nfn f() -> other::D { loop {} }\n",
            "//! x\nuse crate::c;\ntable! { [c::D, 1] }\n",
            "//! x\nuse crate::c;\nfn f() { println!(\"{}\", c::D::new()); }\n",
        ] {
            let found = with_first(first);
            assert_eq!(found.len(), 1, "{first}: {found:?}");
            assert!(found[0].starts_with("shared/x: 4 files"), "{found:?}");
        }
        assert!(with_first("//! x\nuse crate::c;\nconst C: &str = \"c::D\";\n").is_empty());
    }

    #[test]
    fn name_bound_to_itself_ends() {
        assert!(with_last("//! x\nuse d::d;\nfn f() { d::g() }\n").is_empty());
    }

    #[test]
    fn circle_of_tests_is_ignored() {
        assert!(with_last("//! x\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n").is_empty());
    }

    #[test]
    fn re_export_leads_to_the_defining_file() {
        // If the last import led to `mod.rs`, four files would be in a circle.
        let tree = planted(&[
            (
                "shared/x/src/a/mod.rs",
                "//! x\nmod b;\nmod c;\nmod d;\nmod e;\npub use b::B;\nuse c::C;\n",
            ),
            ("shared/x/src/a/b.rs", "//! x\npub struct B;\n"),
            ("shared/x/src/a/c.rs", "//! x\nuse super::d::D;\n"),
            ("shared/x/src/a/d.rs", "//! x\nuse super::e::E;\n"),
            ("shared/x/src/a/e.rs", "//! x\nuse super::B;\n"),
        ]);
        assert!(check(&tree).is_empty());
    }

    #[test]
    fn small_circles_and_tests_crates_are_allowed() {
        let circle = |folder: &str| {
            let path = |file: &str| format!("{folder}/src/{file}.rs");
            let files = [
                (path("lib"), "//! x\nmod a;\nuse a::A;\n"),
                (path("a"), "//! x\nuse crate::b::B;\n"),
                (path("b"), "//! x\nuse crate::a::A;\n"),
            ];
            let files: Vec<_> = files
                .iter()
                .map(|(path, text)| (path.as_str(), *text))
                .collect();
            check(&planted(&files))
        };
        assert!(circle("shared/x").is_empty());
        assert!(circle("tests/x").is_empty());
    }
}
