//! Which crates are checked on which platform: by their folder, as docs/ARCHITECTURE.md divides them.

use crate::cargo::Member;

/// The Workers' compile target.
const WASM_TARGET: &str = "wasm32-unknown-unknown";
/// Folders with crates that build for wasm32 only.
const WASM_ONLY: [&str; 3] = ["durable-objects/", "workers/", "tests/workerd/fixture"];
/// Folder with crates for both platforms.
const SHARED: &str = "shared/";
/// Crates in that folder that are native by purpose.
const NATIVE: [&str; 2] = ["shared/sql-native", "shared/testkit"];

/// The crates, divided by platform.
#[derive(Debug, PartialEq, Eq)]
pub struct Platforms {
    wasm_only: Vec<String>,
    both: Vec<String>,
}

impl Platforms {
    /// Divides the workspace crates.
    pub fn new(members: &[Member]) -> Self {
        let (mut wasm_only, mut both) = (Vec::new(), Vec::new());
        for member in members {
            if WASM_ONLY
                .iter()
                .any(|folder| member.folder.starts_with(folder))
            {
                wasm_only.push(member.name.clone());
            } else if member.folder.starts_with(SHARED) && !NATIVE.contains(&member.folder.as_str())
            {
                both.push(member.name.clone());
            }
        }
        Self { wasm_only, both }
    }

    /// Returns arguments that choose every crate but the wasm32 ones, so that a new crate needs no
    /// listing.
    pub fn native_args(&self) -> Vec<&str> {
        let excluded = self.wasm_only.iter().flat_map(|name| ["--exclude", name]);
        ["--workspace"].into_iter().chain(excluded).collect()
    }

    /// Arguments that choose every crate that runs on wasm32.
    pub fn wasm_args(&self) -> Vec<&str> {
        targeted(self.wasm_only.iter().chain(&self.both))
    }

    /// Arguments that choose the crates that run nowhere else.
    pub fn wasm_only_args(&self) -> Vec<&str> {
        targeted(self.wasm_only.iter())
    }
}

fn targeted<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    ["--target", WASM_TARGET]
        .into_iter()
        .chain(names.flat_map(|name| ["--package", name]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_divided_by_their_folder() {
        let folders = [
            "shared/a",
            "shared/testkit",
            "workers/w",
            "durable-objects/d",
            "containers/bot/core",
        ];
        let members = folders.map(|folder| Member {
            name: folder.replace('/', "-"),
            folder: folder.into(),
        });
        let platforms = Platforms::new(&members);
        assert_eq!(
            platforms.native_args(),
            [
                "--workspace",
                "--exclude",
                "workers-w",
                "--exclude",
                "durable-objects-d"
            ]
        );
        assert_eq!(platforms.wasm_only, ["workers-w", "durable-objects-d"]);
        assert_eq!(platforms.both, ["shared-a"]);
    }
}
