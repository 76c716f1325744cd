//! The code host as the tools of a run may use it: with the gate of the requester.

use std::sync::Arc;

use ars_auth::{Actor, can_write_issues, grants::granted};
use ars_bot_tools::{Denial, RepositoryGate};
use ars_types::RepoSlug;

use super::repositories::authorize_name;
use crate::{context::Deps, run::RunCodeHost, settings::Settings};

/// The gate of a requester.
struct RequesterGate {
    actor: Actor,
    settings: Settings,
}

impl RepositoryGate for RequesterGate {
    fn read(&self, repository: &RepoSlug) -> Result<(), Denial> {
        authorize_name(&self.actor, &self.settings, repository.as_str()).map_err(|_| Denial::Repository)
    }

    fn write_issues(&self, repository: &RepoSlug) -> Result<(), Denial> {
        can_write_issues(&self.actor, repository.as_str()).map_err(|_| Denial::Grant)
    }
}

/// Returns the code host for the runs of a requester.
pub(crate) fn code_host_of(deps: &Deps, actor: &Actor) -> Option<RunCodeHost> {
    let host = Arc::clone(deps.capabilities.code_host.as_ref()?);
    let gate = RequesterGate { actor: actor.clone(), settings: deps.settings.clone() };
    Some(RunCodeHost { host, gate: Arc::new(gate) })
}

/// Returns the code host for a resumed run.
/// Of its requester only the grants of the configuration are known.
pub(crate) fn code_host_of_user(deps: &Deps, user: &str) -> Option<RunCodeHost> {
    let actor = Actor::new(user.to_owned(), ars_auth::Grants::default());
    code_host_of(deps, &granted(&actor, &deps.settings.grants))
}
