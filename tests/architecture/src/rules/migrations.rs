//! Migrations are append-only, because stores exist that have applied them.
//!
//! `migrations/hashes.txt` has a line per step, `<sha-256> <path below migrations/>`. The hash
//! covers the statements without their comment lines. A step with another hash was edited, a line
//! without a step was removed, and a step without a line is new.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use crate::{Tree, Violation};

/// File with the hashes.
const HASHES: &str = "migrations/hashes.txt";
/// A store's whole schema, next to the steps.
const SCHEMA: &str = "schema.sql";

/// Reports steps that were edited, removed or renumbered, and steps that are not recorded yet.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let recorded: BTreeMap<&str, &str> = tree
        .text(HASHES)
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(hash, path)| (path.trim(), hash))
        .collect();
    let mut steps: BTreeMap<&str, &str> = BTreeMap::new();
    let mut schemas = BTreeSet::new();
    for file in tree.with_path(|path| path.starts_with("migrations/") && path.ends_with(".sql")) {
        let path = file.path.trim_start_matches("migrations/");
        match path.strip_suffix(SCHEMA) {
            Some(store) => drop(schemas.insert(store)),
            None => drop(steps.insert(path, &file.text)),
        }
    }

    let mut found = Vec::new();
    for (path, text) in &steps {
        let hash = hash(text);
        match recorded.get(path) {
            Some(known) if *known == hash => {}
            Some(_) => {
                found.push(format!(
                    "migrations/{path} was edited: steps are append-only; add a new one"
                ));
            }
            None => found.push(format!("{HASHES}: add `{hash} {path}`")),
        }
    }
    let gone = recorded.keys().filter(|path| !steps.contains_key(*path));
    found.extend(gone.map(|path| format!("migrations/{path} was removed: steps are append-only")));
    found.extend(misnumbered(steps.keys().copied()));
    let stores: BTreeSet<_> = steps
        .keys()
        .filter_map(|path| path.split_inclusive('/').next())
        .collect();
    found.extend(
        stores
            .difference(&schemas)
            .map(|store| format!("migrations/{store}{SCHEMA} is missing")),
    );
    found
}

/// Reports gaps in a store's step numbers, which count up from 0001.
fn misnumbered<'a>(steps: impl Iterator<Item = &'a str>) -> Vec<Violation> {
    let mut next: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for path in steps {
        let (store, name) = path.split_once('/').unwrap_or(("", path));
        let number = next.entry(store).or_insert(1);
        if !name.starts_with(&format!("{number:04}_")) {
            found.push(format!(
                "migrations/{path}: the next step of {store} is {number:04}_…"
            ));
        }
        *number += 1;
    }
    found
}

fn hash(text: &str) -> String {
    let statements: String = text
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("--"))
        .collect();
    hex::encode(Sha256::digest(statements))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    const STEP: &str = "CREATE TABLE t (a) STRICT;\n";

    fn with(step: &str, hashes: &str) -> Vec<Violation> {
        check(&planted(&[
            ("migrations/s/0001_a.sql", step),
            ("migrations/s/schema.sql", ""),
            (HASHES, hashes),
        ]))
    }

    #[test]
    fn recorded_step_may_not_change() {
        let line = format!("{} s/0001_a.sql\n", hash(STEP));
        assert!(with(STEP, &line).is_empty());
        assert!(with("CREATE TABLE t (b) STRICT;\n", &line)[0].contains("was edited"));
        assert!(with(&format!("-- A comment.\n{STEP}"), &line).is_empty());
        assert!(with(STEP, &format!("{line}0 s/0002_b.sql\n"))[0].contains("was removed"));
    }

    #[test]
    fn new_step_is_reported_with_its_line() {
        assert_eq!(
            with(STEP, ""),
            [format!("{HASHES}: add `{} s/0001_a.sql`", hash(STEP))]
        );
    }

    #[test]
    fn steps_count_up_and_have_a_schema() {
        let lines = format!("{0} s/0002_a.sql\n", hash(STEP));
        let found = check(&planted(&[
            ("migrations/s/0002_a.sql", STEP),
            (HASHES, &lines),
        ]));
        assert!(
            found[0].contains("the next step of s is 0001_"),
            "{found:?}"
        );
        assert!(
            found[1].contains("migrations/s/schema.sql is missing"),
            "{found:?}"
        );
    }
}
