//! The origin of a workspace, stored beside its tree in `meta.json`.

use std::{io, path::Path};

use ars_bot_ports::{WorkspaceError, WorkspaceRequest};
use serde::{Deserialize, Serialize};

use super::{git::without_userinfo, provider::infra};

/// The file's name.
const FILE: &str = "meta.json";

/// The origin of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Meta {
    /// The repository's name, when it has one.
    pub(super) repository: Option<String>,
    /// The clone's address, without credentials.
    pub(super) origin: Option<String>,
    /// The requested ref.
    // Absent in workspaces of older versions.
    #[serde(default, rename = "ref")]
    pub(super) git_ref: Option<String>,
    /// The first commit.
    pub(super) base: Option<String>,
}

impl Meta {
    /// Reads the metadata in a workspace's folder; `None` without a workspace.
    pub(super) fn read(place: &Path) -> Result<Option<Self>, WorkspaceError> {
        match std::fs::read(place.join(FILE)) {
            Ok(text) => serde_json::from_slice(&text)
                .map(Some)
                .map_err(|_| WorkspaceError::Infra("the workspace's meta.json is damaged".into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(infra(&error)),
        }
    }

    pub(super) fn write(&self, place: &Path) -> Result<(), WorkspaceError> {
        let text = serde_json::to_vec(self).map_err(|error| WorkspaceError::Infra(error.to_string()))?;
        std::fs::write(place.join(FILE), text).map_err(|error| infra(&error))
    }

    /// Rejects a follow-up with another repository or ref than the tree's. Replacing the tree could lose unsaved work,
    /// and ignoring the difference would change the wrong tree.
    pub(super) fn must_fit(&self, request: WorkspaceRequest<'_>) -> Result<(), WorkspaceError> {
        let refused = |works_on: &str, other: &str| {
            Err(WorkspaceError::Refused(format!(
                "this thread works on {works_on}, and its tree may hold unsaved work. Use another thread for another {other}."
            )))
        };
        if let Some(wanted) = request.repository
            && self.origin.as_deref() != Some(&without_userinfo(&wanted.origin))
        {
            return refused(self.repository.as_deref().unwrap_or("no repository"), "repository");
        }
        if let Some(wanted) = request.git_ref
            && self.git_ref.as_deref() != Some(wanted.as_str())
        {
            return refused(self.git_ref.as_deref().unwrap_or("its repository's default ref"), "ref");
        }
        Ok(())
    }
}
