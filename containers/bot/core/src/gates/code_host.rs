//! The code host as a run's tools may use it: with the requester's and the channel's gate.

use std::sync::Arc;

use ars_auth::{Actor, can_write_issues};
use ars_bot_tools::{Denial, RepositoryGate};
use ars_codehost::webhook::item_of_thread;
use ars_types::RepoSlug;

use super::repositories::authorize_name;
use crate::{
    context::{Deps, settings::Settings},
    run::RunCodeHost,
};

/// A requester's gate on a channel.
struct RequesterGate {
    actor: Actor,
    settings: Settings,
    /// The repository of the item that the run answers on. The repository's readers read the
    /// answer, and its texts may be those of strangers, so the run leaves it for no other
    /// repository, whatever the requester may use.
    confined_to: Option<RepoSlug>,
}

impl RepositoryGate for RequesterGate {
    fn read(&self, repository: &RepoSlug) -> Result<(), Denial> {
        if self
            .confined_to
            .as_ref()
            .is_some_and(|own| own != repository)
        {
            return Err(Denial::Elsewhere);
        }
        authorize_name(&self.actor, &self.settings, repository.as_str())
            .map_err(|_| Denial::Repository)
    }

    fn write_issues(&self, repository: &RepoSlug) -> Result<(), Denial> {
        can_write_issues(&self.actor, repository.as_str()).map_err(|_| Denial::Grant)
    }
}

/// Returns the code host for a requester's run on a thread.
pub(crate) fn code_host_of(deps: &Deps, actor: &Actor, thread: &str) -> Option<RunCodeHost> {
    let host = Arc::clone(deps.capabilities.code_host.as_ref()?);
    let confined_to = item_of_thread(thread).map(|(repository, _)| repository);
    let gate = RequesterGate {
        actor: actor.clone(),
        settings: deps.settings.clone(),
        confined_to,
    };
    Some(RunCodeHost {
        host,
        gate: Arc::new(gate),
        read: Arc::default(),
        store: Arc::clone(&deps.store),
    })
}

/// Returns the code host for a resumed run. Only the requester's configured grants are known.
pub(crate) fn code_host_of_user(deps: &Deps, user: &str, thread: &str) -> Option<RunCodeHost> {
    let actor = Actor::new(user.to_owned(), ars_auth::Grants::default());
    code_host_of(deps, &deps.settings.identify(&actor), thread)
}

#[cfg(test)]
mod tests {
    use ars_auth::Grants;

    use super::*;

    #[test]
    fn answer_on_an_item_confines_its_run() {
        let slug = |name: &str| RepoSlug::parse(name).unwrap();
        let read = |thread: &str, name: &str| {
            let confined_to = item_of_thread(thread).map(|(repository, _)| repository);
            let actor = Actor::new("http:ann".to_owned(), Grants::default());
            RequesterGate {
                actor,
                settings: Settings::default(),
                confined_to,
            }
            .read(&slug(name))
        };
        for (thread, name, expected) in [
            ("github:acme/app:1", "acme/app", Ok(())),
            ("github:Acme/App:1", "acme/app", Ok(())),
            ("github:acme/app:1", "acme/secret", Err(Denial::Elsewhere)),
            ("http:acme/app:1", "acme/secret", Ok(())),
        ] {
            assert_eq!(read(thread, name), expected, "{thread} {name}");
        }
    }
}
