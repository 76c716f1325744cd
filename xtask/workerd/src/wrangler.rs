//! Reads the part of a Worker's `wrangler.toml` that a local runtime needs too.
//!
//! Deployment settings stand only there; the local configuration is derived, so the two cannot drift apart.
//! There is no default environment to deploy by accident: bindings are read from `[env.production]`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::repo_root;

const FILE: &str = "wrangler.toml";

/// A Worker's deployment settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrangler {
    /// Name of the Worker.
    pub name: String,
    /// The runtime behaves as on this day.
    pub compatibility_date: String,
    /// Behaviours switched on before their day.
    pub compatibility_flags: Vec<String>,
    /// Bindings for Durable Objects.
    pub objects: Vec<ObjectBinding>,
    /// Bindings for object storage.
    pub buckets: Vec<BucketBinding>,
}

/// A Durable Object namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectBinding {
    /// The name the Worker knows it by.
    pub binding: String,
    /// Name of the exported class.
    pub class: String,
    /// Whether it stores data in SQLite.
    pub sqlite: bool,
    /// Whether each object may own a container.
    pub container: bool,
}

/// A bucket in the object storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketBinding {
    /// The name the Worker knows it by.
    pub binding: String,
    /// Name of the bucket.
    pub name: String,
}

/// Returns the path to the Worker's settings in `crate_dir`: its own, or those at the root. Those
/// at the root are for the Worker with an image of the whole checkout.
pub(crate) fn path_of(crate_dir: &Path) -> PathBuf {
    Some(crate_dir.join(FILE))
        .filter(|own| own.is_file())
        .unwrap_or_else(|| repo_root().join(FILE))
}

impl Wrangler {
    /// Reads a `wrangler.toml` file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{} is not as expected", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let file: Value = toml::from_str(text)?;
        let production = &file["env"]["production"];
        ensure!(production.is_object(), "[env.production] is missing");
        let migrations = listed(&production["migrations"]).iter();
        let sqlite: Vec<_> = migrations
            .flat_map(|found| listed(&found["new_sqlite_classes"]))
            .collect();
        let containers: Vec<_> = listed(&production["containers"])
            .iter()
            .map(|found| &found["class_name"])
            .collect();
        let object = |found: &Value| {
            let class = &found["class_name"];
            Ok(ObjectBinding {
                binding: required(found, "name")?,
                class: required(found, "class_name")?,
                sqlite: sqlite.contains(&class),
                container: containers.contains(&class),
            })
        };
        let bucket = |found: &Value| {
            Ok(BucketBinding {
                binding: required(found, "binding")?,
                name: required(found, "bucket_name")?,
            })
        };
        let flags = listed(&file["compatibility_flags"])
            .iter()
            .filter_map(Value::as_str);
        Ok(Self {
            name: required(&file, "name")?,
            compatibility_date: required(&file, "compatibility_date")?,
            compatibility_flags: flags.map(str::to_owned).collect(),
            objects: listed(&production["durable_objects"]["bindings"])
                .iter()
                .map(object)
                .collect::<Result<_>>()?,
            buckets: listed(&production["r2_buckets"])
                .iter()
                .map(bucket)
                .collect::<Result<_>>()?,
        })
    }
}

fn listed(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn required(table: &Value, key: &str) -> Result<String> {
    Ok(table[key]
        .as_str()
        .with_context(|| format!("no text `{key}`"))?
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_and_storage_kinds_come_from_production() {
        let text = "name = 'w'\ncompatibility_date = '2026-07-30'\n[env.production]\n\
            [[env.production.durable_objects.bindings]]\nname = 'A'\nclass_name = 'Alpha'\n\
            [[env.production.durable_objects.bindings]]\nname = 'B'\nclass_name = 'Beta'\n\
            [[env.production.containers]]\nclass_name = 'Beta'\nimage = 'Dockerfile'\n\
            [[env.production.r2_buckets]]\nbinding = 'C'\nbucket_name = 'gamma'\n\
            [[env.production.migrations]]\ntag = 'v1'\nnew_sqlite_classes = ['Alpha']\n";
        let wrangler = Wrangler::parse(text).unwrap();
        let object = |binding: &str, class: &str, sqlite| ObjectBinding {
            binding: binding.into(),
            class: class.into(),
            sqlite,
            container: !sqlite,
        };
        assert_eq!(
            wrangler.objects,
            [object("A", "Alpha", true), object("B", "Beta", false)]
        );
        assert_eq!(
            wrangler.buckets,
            [BucketBinding {
                binding: "C".into(),
                name: "gamma".into()
            }]
        );
        assert!(wrangler.compatibility_flags.is_empty());
    }

    #[test]
    fn deployment_needs_an_environment() {
        for crate_dir in [
            crate::state_worker_dir(),
            crate::edge_worker_dir(),
            crate::resident_worker_dir(),
        ] {
            let text = std::fs::read_to_string(path_of(&crate_dir)).unwrap();
            let file: toml::Table = toml::from_str(&text).unwrap();
            // wrangler has no entry point at the top level, so a deployment without `-e` is an error.
            assert!(!file.contains_key("main") && file["env"]["production"].get("main").is_some());
            assert!(
                Wrangler::parse(&text)
                    .unwrap()
                    .objects
                    .iter()
                    .all(|object| object.sqlite)
            );
        }
    }

    #[test]
    fn bots_and_residents_have_containers() {
        let edge = Wrangler::read(&path_of(&crate::edge_worker_dir())).unwrap();
        assert_eq!(
            edge.objects
                .iter()
                .map(|object| object.container)
                .collect::<Vec<_>>(),
            [true]
        );
        let state = Wrangler::read(&path_of(&crate::state_worker_dir())).unwrap();
        assert!(state.objects.iter().all(|object| !object.container));
        let resident = Wrangler::read(&path_of(&crate::resident_worker_dir())).unwrap();
        assert_eq!(
            resident
                .objects
                .iter()
                .map(|object| object.container)
                .collect::<Vec<_>>(),
            [true, false]
        );
    }
}
