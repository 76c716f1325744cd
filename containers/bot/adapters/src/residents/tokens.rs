//! Code host tokens for this machine's residents.
//!
//! Only the service's git receives a token. Commands reach the code host through their proxy, as in
//! local trees.

use std::sync::Arc;

use ars_bot_ports::{CodeHost, CodeHostError, code_host::GitAccess};
use ars_resident::daemon::{GitCredential, SecretText};
use ars_resident_local::{HostError, Minted, TokenUse, Tokens};
use ars_types::RepoSlug;
use futures::FutureExt as _;
use tokio::runtime::Handle;

use super::local::KnownRepositories;
use crate::logins::without_userinfo;

/// Returns a code host's tokens. The connections belong to the runtime.
pub(super) fn from_host(
    host: &Arc<dyn CodeHost>,
    known: KnownRepositories,
    runtime: Handle,
) -> Tokens {
    let host = Arc::clone(host);
    Arc::new(move |resource, usage, may_be_cached| {
        let access = match usage {
            TokenUse::Fetch => GitAccess::Read,
            TokenUse::Push => GitAccess::Write,
            TokenUse::Tree => return async { Ok(None) }.boxed(),
        };
        let place = known(resource).and_then(|repository| {
            Some((
                host.host().repository_of(&repository.origin)?,
                site_of(&without_userinfo(&repository.origin))?,
            ))
        });
        let Some((slug, site)) = place else {
            return async { Ok(None) }.boxed();
        };
        let host = Arc::clone(&host);
        let minting =
            runtime.spawn(async move { mint(&*host, &slug, access, may_be_cached).await });
        async move {
            let minted = minting
                .await
                .map_err(|_| HostError::Failed("the mint broke off".to_owned()))?;
            let minted = minted.map_err(|error| HostError::Failed(error.to_string()))?;
            let credential = GitCredential {
                origin: site,
                username: minted.user.to_owned(),
                password: SecretText::new(minted.password.expose()),
            };
            Ok(Some(Minted {
                credential,
                expires_at: minted.expires_at,
            }))
        }
        .boxed()
    })
}

async fn mint(
    host: &dyn CodeHost,
    slug: &RepoSlug,
    access: GitAccess,
    may_be_cached: bool,
) -> Result<ars_bot_ports::code_host::GitCredential, CodeHostError> {
    let minted = host.git_credential(slug, access).await?;
    // A plain token cannot be refreshed.
    if may_be_cached || minted.expires_at.is_none() {
        return Ok(minted);
    }
    host.reject_git_credential(slug, access, &minted);
    host.git_credential(slug, access).await
}

/// Returns an HTTP address's scheme and host.
fn site_of(origin: &str) -> Option<String> {
    let (scheme @ ("http" | "https"), rest) = origin.split_once("://")? else {
        return None;
    };
    let host = rest.split('/').next()?;
    Some(format!("{scheme}://{host}"))
}
