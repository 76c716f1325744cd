//! `execution` and `workspaceDir`: where commands run, and where their working trees are.
//!
//! Not here: the commands' sandbox (`file.rs`), the folder lock (`tree_folder.rs`).

use std::path::{Component, Path, PathBuf, absolute};

use ars_bot_adapters::workspace::WORKSPACES;
use serde::Deserialize;

use super::{ConfigError, File};
use crate::error::UnknownExecution;

/// Key for the working tree folder.
const KEY: &str = "workspaceDir";

/// Settings in the `[execution]` table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Execution {
    /// The execution kind.
    #[serde(rename = "type")]
    pub kind: ExecutionKind,
    /// Settings for residents.
    pub resident: Resident,
}

/// Settings in the `[execution.resident]` table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Resident {
    /// The resident Worker's address.
    #[serde(alias = "base_url")]
    pub base_url: Option<String>,
    /// Variable that holds the operators' bearer.
    #[serde(alias = "token_env")]
    pub token_env: Option<String>,
    /// Variable that holds the administrators' bearer.
    #[serde(alias = "admin_token_env")]
    pub admin_token_env: Option<String>,
    /// Probe timeout in milliseconds.
    #[serde(alias = "probe_timeout_ms")]
    pub probe_timeout_ms: Option<u64>,
    /// Base address of the code host from which the Worker's residents clone.
    #[serde(alias = "code_host_url")]
    pub code_host_url: Option<String>,
    /// Residents run on this machine; if absent, true where the stores are.
    pub local: Option<bool>,
    /// They are onboarded by the first run on a configured repository; true if absent.
    pub auto: Option<bool>,
}

/// Longest probe timeout in milliseconds.
const PROBE_TIMEOUT_MAX_MS: u64 = 60_000;

impl Resident {
    /// Returns whether the installation has residents. Local residents go with local stores.
    pub fn is_used(&self, has_shared_stores: bool) -> bool {
        self.base_url.is_some() || (self.local != Some(false) && !has_shared_stores)
    }

    /// Rejects keys that have no effect together.
    ///
    /// # Errors
    /// The first such key, or a timeout out of bounds.
    pub fn check(&self) -> Result<(), ConfigError> {
        let invalid = |key: &str, problem: &str| {
            Err(ConfigError::invalid(
                format!("execution.resident.{key}"),
                problem,
            ))
        };
        if self
            .probe_timeout_ms
            .is_some_and(|ms| !(1..=PROBE_TIMEOUT_MAX_MS).contains(&ms))
        {
            return invalid("probeTimeoutMs", "must be from 1 to 60000");
        }
        if self.base_url.is_some() {
            return match (self.local, self.auto) {
                (Some(true), _) => invalid("local", "does not go with baseUrl"),
                (_, Some(true)) => invalid("auto", "does not go with baseUrl"),
                _ => Ok(()),
            };
        }
        if self.local == Some(false) && self.auto == Some(true) {
            return invalid("auto", "does not go with local = false");
        }
        let of_worker = [
            ("tokenEnv", self.token_env.is_some()),
            ("adminTokenEnv", self.admin_token_env.is_some()),
            ("codeHostUrl", self.code_host_url.is_some()),
        ];
        match of_worker.into_iter().find(|(_, is_set)| *is_set) {
            Some((key, _)) => invalid(key, "needs baseUrl"),
            None => Ok(()),
        }
    }
}

/// Values for `execution.type`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum ExecutionKind {
    /// On this machine, in the sandbox.
    #[default]
    Local,
}

impl TryFrom<String> for ExecutionKind {
    type Error = UnknownExecution;

    fn try_from(word: String) -> Result<Self, UnknownExecution> {
        if word == "local" {
            Ok(Self::Local)
        } else {
            Err(UnknownExecution)
        }
    }
}

impl File {
    /// Returns the absolute working tree folder, or `None` for the default.
    ///
    /// A relative path is below `beside`, the configuration file's folder. A state Worker document
    /// has none.
    pub fn tree_folder(
        &self,
        beside: Option<&Path>,
        data_dir: &Path,
    ) -> Result<Option<PathBuf>, ConfigError> {
        let invalid = |problem: &str| ConfigError::invalid(KEY, problem);
        let Some(wanted) = &self.workspace_dir else {
            return Ok(None);
        };
        if wanted.as_os_str().is_empty() {
            return Err(invalid("must be a folder"));
        }
        let wanted = match beside {
            Some(beside) => beside.join(wanted),
            None if wanted.is_relative() => {
                return Err(invalid(
                    "must be absolute in a document of the state Worker",
                ));
            }
            None => wanted.clone(),
        };
        let (folder, data) = (without_links(&wanted)?, without_links(data_dir)?);
        if data.starts_with(&folder) {
            return Err(invalid("must not contain the data directory"));
        }
        if folder.starts_with(&data) && folder != data.join(WORKSPACES) {
            return Err(invalid(
                "must be outside the data directory, or its folder `workspaces`, the default",
            ));
        }
        Ok(Some(folder))
    }
}

/// Returns a configuration file's folder, which relative paths in it are relative to.
pub fn folder_of(file: &Path) -> Option<PathBuf> {
    absolute(file).ok()?.parent().map(Path::to_path_buf)
}

/// Returns an absolute path without links and `..`. The last part need not exist.
fn without_links(path: &Path) -> Result<PathBuf, ConfigError> {
    let path =
        absolute(path).map_err(|_| ConfigError::invalid(KEY, "cannot be made an absolute path"))?;
    let mut real = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            real.pop();
            continue;
        }
        real.push(part);
        // What does not exist is no link.
        real = real.canonicalize().unwrap_or(real);
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;
    use crate::config::{Format, parse};

    fn folder(text: &str, beside: Option<&Path>, data: &Path) -> Result<Option<PathBuf>, String> {
        let file = parse(text, Format::Yaml).map_err(|error| error.to_string())?;
        file.tree_folder(beside, data)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn folder_is_relative_to_the_configuration_file() {
        let machine = tempfile::tempdir().unwrap();
        let (etc, data) = (machine.path().join("etc"), machine.path().join("data"));
        let real = machine.path().canonicalize().unwrap();
        let expected = |name: &str| Ok(Some(real.join(name)));
        assert_eq!(folder("{}", Some(&etc), &data), Ok(None));
        assert_eq!(
            folder("workspaceDir: trees", Some(&etc), &data),
            expected("etc/trees")
        );
        assert_eq!(
            folder("workspace_dir: ./a/../../trees", Some(&etc), &data),
            expected("trees")
        );
        let whole = format!("workspaceDir: {}", machine.path().join("trees").display());
        for beside in [None, Some(&*etc)] {
            assert_eq!(folder(&whole, beside, &data), expected("trees"));
        }
        assert_eq!(folder_of(&etc.join("ars.yaml")), Some(etc));
    }

    #[test]
    fn keys_of_residents_go_together() {
        let check = |text: &str| {
            let file = parse(text, Format::Yaml).map_err(|error| error.to_string())?;
            file.execution
                .resident
                .check()
                .map_err(|error| error.to_string())
        };
        let resident = |fields: &str| check(&format!("execution: {{ resident: {{ {fields} }} }}"));
        for good in [
            "",
            "local: false",
            "auto: false",
            "local: true, auto: true",
            "baseUrl: https://r.example, probeTimeoutMs: 500",
            "probeTimeoutMs: 1",
        ] {
            assert_eq!(resident(good), Ok(()), "{good}");
        }
        for (bad, key) in [
            ("tokenEnv: X", "tokenEnv"),
            ("codeHostUrl: https://x.example", "codeHostUrl"),
            ("baseUrl: https://r.example, local: true", "local"),
            ("baseUrl: https://r.example, auto: true", "auto"),
            ("local: false, auto: true", "auto"),
            ("probeTimeoutMs: 0", "probeTimeoutMs"),
            ("probeTimeoutMs: 60001", "probeTimeoutMs"),
        ] {
            assert!(
                resident(bad)
                    .unwrap_err()
                    .contains(&format!("execution.resident.{key}")),
                "{bad}"
            );
        }
        assert!(resident("token: x").is_err());
    }

    #[test]
    fn folder_is_apart_from_the_data_directory() {
        let machine = tempfile::tempdir().unwrap();
        let data = machine.path().join("data");
        for name in ["meta", "memory"] {
            fs::create_dir_all(data.join(name)).unwrap();
        }
        symlink(data.join("meta"), machine.path().join("link")).unwrap();
        for name in [
            "data",
            "data/meta",
            "data/memory/trees",
            "data/workspaces/a",
            "data/x/../meta",
            "link/a",
        ] {
            let problem = folder(
                &format!("workspaceDir: {name}"),
                Some(machine.path()),
                &data,
            )
            .unwrap_err();
            assert!(
                problem.starts_with("workspaceDir: must"),
                "{name}: {problem}"
            );
        }
        for name in [".", "/", "''"] {
            let problem = folder(
                &format!("workspaceDir: {name}"),
                Some(machine.path()),
                &data,
            )
            .unwrap_err();
            assert!(
                problem.starts_with("workspaceDir: must"),
                "{name}: {problem}"
            );
        }
        for name in ["data/workspaces", "database"] {
            let real = machine.path().canonicalize().unwrap().join(name);
            let found = folder(
                &format!("workspaceDir: {name}"),
                Some(machine.path()),
                &data,
            );
            assert_eq!(found, Ok(Some(real)));
        }
        let problem = folder("workspaceDir: trees", None, &data).unwrap_err();
        assert!(
            problem.contains("workspaceDir") && problem.contains("absolute"),
            "{problem}"
        );
    }
}
