//! Every crate inherits its lints and dependency versions from the root manifest.

use toml::{Table, Value};

use crate::{Graph, Tree, Violation};

/// Tables that list dependencies.
const DEPENDENCIES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// Reports crates with their own lints or versions.
pub fn check(tree: &Tree, graph: &Graph) -> Vec<Violation> {
    let mut found = Vec::new();
    for member in &graph.members {
        let path = format!("{}/Cargo.toml", member.folder);
        match tree.text(&path).map(str::parse::<Table>) {
            Some(Ok(manifest)) => inspect(&path, &manifest, &mut found),
            Some(Err(_)) | None => found.push(format!("{path}: cannot be read")),
        }
    }
    found
}

fn inspect(path: &str, manifest: &Table, found: &mut Vec<Violation>) {
    if manifest.get("lints").is_none_or(|lints| !inherits(lints)) {
        found.push(format!("{path}: `[lints] workspace = true` is missing"));
    }
    let targets = manifest
        .get("target")
        .and_then(Value::as_table)
        .into_iter()
        .flat_map(Table::values);
    let tables = targets.filter_map(Value::as_table).chain([manifest]);
    for table in tables {
        for (name, dependency) in DEPENDENCIES
            .iter()
            .filter_map(|kind| table.get(*kind)?.as_table())
            .flatten()
        {
            if !inherits(dependency) {
                found.push(format!(
                    "{path}: `{name}` takes its version from the root manifest: `workspace = true`"
                ));
            }
        }
    }
}

fn inherits(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::planted as graph;
    use crate::tree::planted;

    #[test]
    fn own_lints_and_versions_are_reported() {
        let manifest = "[dependencies]\na.workspace = true\nb = \"1\"\n[target.'cfg(unix)'.dependencies]\nc = { path = \"x\" }\n";
        let tree = planted(&[
            ("a/Cargo.toml", manifest),
            (
                "b/Cargo.toml",
                "[lints]\nworkspace = true\n[dev-dependencies]\nd = { workspace = true, features = [] }\n",
            ),
        ]);
        let found = check(&tree, &graph(&[("a", &[]), ("b", &[])]));
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().all(|text| text.starts_with("a/Cargo.toml")));
    }
}
