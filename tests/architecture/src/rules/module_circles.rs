//! No import circle has more than two of a crate's top-level modules, in any crate.
//!
//! A top-level module is a folder or a file directly in `src`. Imports are resolved to the files
//! that define the items (`circles`), so a re-export adds nothing. The crate's root is no member.

use std::collections::{BTreeMap, BTreeSet};

use super::circles::{by_crate, circles, file_imports};
use crate::{Tree, Violation};

/// Maximum top-level modules in a circle.
const CIRCLE_MODULES: usize = 2;
/// Why three modules of these crates may import each other.
const SMALL_FILES: &str =
    "its modules are single files, and the rule on files bounds their circles";
/// Why these crates are not done.
const TO_SPLIT: &str = "data that several modules share is still in the module that makes it";
/// Crates with a larger circle, each with the size of its largest circle and the reason.
const LARGER: [(&str, usize, &str); 8] = [
    ("containers/bot/app", 7, TO_SPLIT),
    ("shared/auth", 3, SMALL_FILES),
    ("shared/commands", 3, SMALL_FILES),
    ("shared/resident", 3, TO_SPLIT),
    ("shared/settings", 3, SMALL_FILES),
    ("tests/simulation", 4, TO_SPLIT),
    ("xtask/engine", 4, TO_SPLIT),
    ("xtask/workerd", 5, TO_SPLIT),
];

/// Names circles with too many modules, and exceptions that are larger than needed.
pub fn check(tree: &Tree) -> Vec<Violation> {
    violations(tree, &LARGER)
}

fn violations(tree: &Tree, larger: &[(&str, usize, &str)]) -> Vec<Violation> {
    let mut found = Vec::new();
    for (root, sources) in by_crate(tree) {
        let imports = module_imports(root, &file_imports(root, &sources));
        let exception = larger.iter().find(|(path, ..)| *path == root);
        let limit = exception.map_or(CIRCLE_MODULES, |(_, modules, _)| *modules);
        let circles = circles(&imports);
        for circle in circles.iter().filter(|circle| circle.len() > limit) {
            let (modules, names) = (circle.len(), circle.iter().copied().collect::<Vec<_>>());
            found.push(format!(
                "{root}: {modules} top-level modules import each other in a circle: {}",
                names.join(", ")
            ));
        }
        let largest = circles.iter().map(BTreeSet::len).max().unwrap_or(0);
        if exception.is_some() && largest < limit {
            found.push(format!(
                "{root}: the exception allows {limit} modules, the largest circle has {largest}"
            ));
        }
    }
    found
}

/// Returns the top-level modules that each top-level module imports items from.
fn module_imports<'a>(
    root: &str,
    imports: &BTreeMap<&'a str, BTreeSet<&'a str>>,
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut modules: BTreeMap<&'a str, BTreeSet<&'a str>> = BTreeMap::new();
    for (file, imported) in imports {
        let Some(module) = top_level_module(root, file) else {
            continue;
        };
        let others = imported
            .iter()
            .filter_map(|other| top_level_module(root, other))
            .filter(|other| *other != module);
        modules.entry(module).or_default().extend(others);
    }
    modules
}

/// Returns the name of a file's top-level module, or `None` for the crate's root.
fn top_level_module<'a>(root: &str, file: &'a str) -> Option<&'a str> {
    let inner = file.strip_prefix(root)?.strip_prefix("/src/")?;
    let first = inner.split('/').next()?;
    let name = first.strip_suffix(".rs").unwrap_or(first);
    (!["lib", "main"].contains(&name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    /// A crate where `a` imports `b`, `b` imports `c`, and a file in `c` has the given import.
    fn with_last(last: &str, larger: &[(&str, usize, &str)]) -> Vec<Violation> {
        let tree = planted(&[
            ("xtask/x/src/lib.rs", "//! x\nmod a;\nmod b;\nmod c;\n"),
            (
                "xtask/x/src/a/mod.rs",
                "//! x\nmod one;\npub use one::One;\n",
            ),
            ("xtask/x/src/a/one.rs", "//! x\nuse crate::b::B;\n"),
            ("xtask/x/src/b.rs", "//! x\nuse crate::c::Deep;\n"),
            (
                "xtask/x/src/c/mod.rs",
                "//! x\nmod deep;\nmod other;\npub use deep::Deep;\n",
            ),
            ("xtask/x/src/c/deep.rs", "//! x\npub struct Deep;\n"),
            ("xtask/x/src/c/other.rs", last),
        ]);
        violations(&tree, larger)
    }

    #[test]
    fn circle_of_three_modules_is_named() {
        let found = with_last("//! x\nuse crate::a::One;\n", &[]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0]
                .starts_with("xtask/x: 3 top-level modules import each other in a circle: a, b, c"),
            "{found:?}"
        );
    }

    #[test]
    fn circle_of_two_modules_is_allowed() {
        for last in [
            "//! x\nuse crate::b::B;\n",
            "//! x\nuse super::deep::Deep;\n",
            "//! x\n#[cfg(test)]\nmod tests {\n    use crate::a::One;\n}\n",
        ] {
            assert!(with_last(last, &[]).is_empty(), "{last}");
        }
    }

    #[test]
    fn exception_is_as_small_as_possible() {
        let three = "//! x\nuse crate::a::One;\n";
        assert!(with_last(three, &[("xtask/x", 3, "not done")]).is_empty());
        let found = with_last(three, &[("xtask/x", 4, "not done")]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("allows 4 modules"), "{found:?}");
    }
}
