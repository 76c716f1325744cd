//! Git's access to an origin on the code host: a token for this repository and this operation.

use std::sync::Arc;

use ars_bot_ports::{
    CodeHost, CodeHostError, WorkspaceError,
    code_host::{GitAccess, GitCredential},
};
use ars_types::RepoSlug;

use super::credentials::Credentials;
use crate::logins::{Login, login_in, without_userinfo};

/// Git's words about a token that the host does not accept.
const REJECTED: &str = "Authentication failed";

/// An operation's credentials, and their source.
#[derive(Default)]
pub(super) struct OriginAccess {
    /// The credentials for git. Without any, git works anonymously.
    pub(super) credentials: Option<Credentials>,
    minted: Option<(RepoSlug, GitAccess, GitCredential)>,
    failure: Option<CodeHostError>,
}

impl OriginAccess {
    /// Returns read access to an origin. Credentials in the address win. A failed mint leaves it
    /// anonymous, because a public repository needs no token.
    pub(super) async fn to_read(
        origin: &str,
        host: Option<&Arc<dyn CodeHost>>,
    ) -> Result<Self, WorkspaceError> {
        Self::new(origin, host, GitAccess::Read).await
    }

    /// Returns the access for a single operation with this kind.
    pub(super) async fn new(
        origin: &str,
        host: Option<&Arc<dyn CodeHost>>,
        access: GitAccess,
    ) -> Result<Self, WorkspaceError> {
        let own = login_in(origin).map_err(|problem| WorkspaceError::Clone(problem.to_owned()))?;
        if let Some(login) = own {
            let credentials = Credentials::new(&without_userinfo(origin), login);
            return Ok(Self {
                credentials: Some(credentials),
                ..Self::default()
            });
        }
        let Some((host, slug)) =
            host.and_then(|host| Some((host, host.host().repository_of(origin)?)))
        else {
            return Ok(Self::default());
        };
        match host.git_credential(&slug, access).await {
            Ok(minted) => Ok(Self {
                credentials: Some(Credentials::new(origin, Login::from_credential(&minted))),
                minted: Some((slug, access, minted)),
                failure: None,
            }),
            Err(error) => {
                tracing::warn!(repository = %slug, reason = %error, "no token for git: it is anonymous");
                Ok(Self {
                    failure: Some(error),
                    ..Self::default()
                })
            }
        }
    }

    /// Drops a token that the host rejected. Returns whether the operation is tried again with a
    /// fresh token.
    pub(super) fn is_rejected(&self, words: &str, host: Option<&Arc<dyn CodeHost>>) -> bool {
        let (Some(host), Some((slug, access, credential))) = (host, &self.minted) else {
            return false;
        };
        // A plain token cannot be refreshed.
        let is_rejected = words.contains(REJECTED) && credential.expires_at.is_some();
        if is_rejected {
            host.reject_git_credential(slug, *access, credential);
        }
        is_rejected
    }

    /// Returns git's words, with the reason for which there was no token.
    pub(super) fn explain(&self, words: String) -> String {
        match &self.failure {
            Some(failure) => format!("{words} (without a token: {failure})"),
            None => words,
        }
    }
}
