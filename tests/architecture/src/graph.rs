//! The crates and their dependencies, from `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, MetadataCommand, PackageId};

/// A crate in the workspace.
#[derive(Debug, Clone)]
pub struct Member {
    /// Folder relative to the root; rules refer to crates by it.
    pub folder: String,
    /// Workspace crate folders that it depends on.
    pub uses: BTreeSet<String>,
    /// Workspace crate folders that only its tests depend on.
    pub tests_use: BTreeSet<String>,
    /// All foreign crate names that it depends on, directly or not.
    pub foreign: BTreeSet<String>,
}

/// Every crate in the workspace.
#[derive(Debug)]
pub struct Graph {
    /// Crates in the workspace.
    pub members: Vec<Member>,
}

impl Graph {
    /// Reads `cargo metadata` for the project's two platforms.
    pub fn load(root: &Path) -> Result<Self> {
        let metadata = MetadataCommand::new()
            .current_dir(root)
            .other_options(
                [
                    "--filter-platform",
                    env_triple(),
                    "--filter-platform",
                    "wasm32-unknown-unknown",
                ]
                .map(String::from)
                .to_vec(),
            )
            .exec()
            .context("cargo metadata")?;
        let root = &metadata.workspace_root;
        let folders: BTreeMap<&PackageId, String> = metadata
            .workspace_packages()
            .into_iter()
            .map(|package| {
                let folder = package.manifest_path.parent().unwrap_or(root);
                (
                    &package.id,
                    folder.strip_prefix(root).unwrap_or(folder).to_string(),
                )
            })
            .collect();
        let resolve = metadata
            .resolve
            .as_ref()
            .context("cargo resolved nothing")?;
        let needs: BTreeMap<&PackageId, Vec<(&PackageId, bool)>> = resolve
            .nodes
            .iter()
            .map(|node| {
                let needs = node.deps.iter().map(|dep| {
                    let shipped = dep
                        .dep_kinds
                        .iter()
                        .any(|kind| kind.kind == DependencyKind::Normal);
                    (&dep.pkg, shipped)
                });
                (&node.id, needs.collect())
            })
            .collect();
        let names: BTreeMap<&PackageId, String> = metadata
            .packages
            .iter()
            .map(|package| (&package.id, package.name.to_string()))
            .collect();

        let members = folders.iter().map(|(id, folder)| {
            let direct = needs.get(id).map(Vec::as_slice).unwrap_or_default();
            let ours = |shipped: bool| {
                let kind = direct.iter().filter(move |(_, found)| *found == shipped);
                kind.filter_map(|(dep, _)| folders.get(dep).cloned())
                    .collect()
            };
            let foreign = reached(id, &needs);
            let foreign = foreign.iter().filter(|dep| !folders.contains_key(*dep));
            let foreign = foreign.filter_map(|dep| names.get(dep).cloned()).collect();
            Member {
                folder: folder.clone(),
                uses: ours(true),
                tests_use: ours(false),
                foreign,
            }
        });
        Ok(Self {
            members: members.collect(),
        })
    }
}

/// Returns a crate's direct and indirect dependencies.
fn reached<'a>(
    from: &'a PackageId,
    needs: &BTreeMap<&'a PackageId, Vec<(&'a PackageId, bool)>>,
) -> BTreeSet<&'a PackageId> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(next) = open.pop() {
        for (dep, shipped) in needs.get(next).into_iter().flatten() {
            if *shipped && seen.insert(*dep) {
                open.push(dep);
            }
        }
    }
    seen
}

/// Returns the machine's own platform.
const fn env_triple() -> &'static str {
    if cfg!(target_arch = "aarch64") {
        "aarch64-unknown-linux-gnu"
    } else {
        "x86_64-unknown-linux-gnu"
    }
}

/// Returns a workspace for testing the rules: folders, each with the folders and foreign crates
/// that it uses.
#[cfg(test)]
pub(crate) fn planted(members: &[(&str, &[&str])]) -> Graph {
    let is_member = |name: &&str| members.iter().any(|(folder, _)| folder == name);
    let members = members.iter().map(|(folder, uses)| Member {
        folder: (*folder).to_owned(),
        uses: uses
            .iter()
            .copied()
            .filter(is_member)
            .map(String::from)
            .collect(),
        tests_use: BTreeSet::new(),
        foreign: uses
            .iter()
            .copied()
            .filter(|name| !is_member(name))
            .map(String::from)
            .collect(),
    });
    Graph {
        members: members.collect(),
    }
}
