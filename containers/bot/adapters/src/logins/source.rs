//! The service's logins: from configured origins, and from the code host.

use std::{collections::BTreeMap, sync::Arc};

use ars_auth::Secret;
use ars_bot_ports::{
    CodeHost,
    code_host::{GitAccess, GitCredential},
};
use ars_codehost::answer::Meaning;

use super::{
    address::{login_in, without_userinfo},
    login::Login,
};

/// The logins, by origin.
#[derive(Clone, Default)]
pub struct Logins {
    /// Logins from configured origins, keyed by the origin without the login.
    configured: BTreeMap<String, Login>,
    code_host: Option<Arc<dyn CodeHost>>,
}

impl Logins {
    /// Collects the origins' logins. The code host has a login for each repository that the account
    /// may read. An origin with an unusable login has none: cloning it fails with the reason.
    pub fn new<'a>(
        origins: impl IntoIterator<Item = &'a str>,
        code_host: Option<Arc<dyn CodeHost>>,
    ) -> Self {
        let of_origin = |origin: &str| Some((without_userinfo(origin), login_in(origin).ok()??));
        Self {
            configured: origins.into_iter().filter_map(of_origin).collect(),
            code_host,
        }
    }

    /// Returns the code host.
    pub(crate) const fn code_host(&self) -> Option<&Arc<dyn CodeHost>> {
        self.code_host.as_ref()
    }

    /// Drops a login that the code host rejected. The next login is fresh.
    pub(crate) fn reject(&self, origin: &str, access: GitAccess, login: &Login) {
        let Some(host) = self
            .code_host
            .as_ref()
            .filter(|_| !self.configured.contains_key(origin))
        else {
            return;
        };
        let rejected = Secret::parse(Some(login.password.clone()));
        if let (Some(repository), Some(password)) = (host.host().repository_of(origin), rejected) {
            let rejected = GitCredential {
                user: "",
                password,
                expires_at: None,
            };
            host.reject_git_credential(&repository, access, &rejected);
        }
    }

    /// Returns whether there may be a login for an origin that contains none.
    pub(crate) fn covers(&self, origin: &str) -> bool {
        let is_at_host = |host: &Arc<dyn CodeHost>| host.host().repository_of(origin).is_some();
        self.configured.contains_key(origin) || self.code_host.as_ref().is_some_and(is_at_host)
    }

    /// Returns the login for an operation on an origin that contains none. `None` if the service
    /// has no account for it.
    ///
    /// # Errors
    /// Returns why the code host has no login now, as a text without secrets.
    pub(crate) async fn login(
        &self,
        origin: &str,
        access: GitAccess,
    ) -> Result<Option<Login>, String> {
        if let Some(login) = self.configured.get(origin) {
            return Ok(Some(login.clone()));
        }
        let Some(host) = &self.code_host else {
            return Ok(None);
        };
        let Some(repository) = host.host().repository_of(origin) else {
            return Ok(None);
        };
        match host.git_credential(&repository, access).await {
            Ok(found) => Ok(Some(Login::from_credential(&found))),
            // It may be public.
            Err(error) if error.meaning() == Some(&Meaning::OutsideInstallation) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }
}
