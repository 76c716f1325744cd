//! What a workspace began as, kept beside its tree in `meta.json`.

use std::{io, path::Path};

use ars_bot_ports::{WorkspaceError, WorkspaceRequest};
use serde::{Deserialize, Serialize};

use super::{git::without_userinfo, provider::infra};

/// The file's name.
const FILE: &str = "meta.json";

/// What a workspace began as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Meta {
    /// The repository's name, when it has one.
    pub(super) repository: Option<String>,
    /// Where it was cloned from, without credentials.
    pub(super) origin: Option<String>,
    /// The ref it was asked to start from.
    // Workspaces made before refs were kept have none.
    #[serde(default, rename = "ref")]
    pub(super) git_ref: Option<String>,
    /// The commit it started from.
    pub(super) base: Option<String>,
}

impl Meta {
    /// What is kept in a workspace's folder; none when there is no workspace.
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

    /// Refuses a follow-up that wants another repository or another start than the tree has: meeting it would
    /// replace a tree that may hold unsaved work, ignoring it would work on the wrong one.
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
