//! The two permission checks at dispatch: running the agent, and using the repository.
//!
//! Unrestricted agents and repositories are open to every actor that may dispatch. The policy table
//! decides about the others.

use crate::{
    Actor, Denied, Restrictions,
    policy::{Resource, decide},
};

/// Checks an agent. A restricted agent requires a specific grant, or the grant for all agents.
pub fn can_run_agent(
    actor: &Actor,
    restrictions: &Restrictions,
    agent: &str,
) -> Result<(), Denied> {
    if restrictions.agents.contains(agent) {
        return decide(actor, "agent:run", &Resource::Agent(agent));
    }
    Ok(())
}

/// Checks a repository. A restricted repository must be on the actor's `repos` axis.
///
/// Slugs are lower case, but a request may use any case that the code host accepts, so the
/// comparison ignores case.
pub fn can_use_repo(
    actor: &Actor,
    restrictions: &Restrictions,
    repository: &str,
) -> Result<(), Denied> {
    if restrictions
        .repos
        .iter()
        .any(|closed| closed.eq_ignore_ascii_case(repository))
    {
        return decide(actor, "repo:use", &Resource::Repo(repository));
    }
    Ok(())
}

/// Checks whether an actor's runs may write a repository's issues and comments, which needs a
/// grant. Also checks the repository's gate ([`can_use_repo`]).
pub fn can_write_issues(actor: &Actor, repository: &str) -> Result<(), Denied> {
    decide(actor, "issue:write", &Resource::Repo(repository))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grants, Set};

    fn actor(actions: &[&str], repos: &[&str]) -> Actor {
        let grants = Grants {
            actions: Set::only(actions),
            channels: Set::default(),
            repos: Set::only(repos),
        };
        Actor::new("http:ann", grants)
    }

    fn closed() -> Restrictions {
        Restrictions {
            agents: ["coding".to_owned()].into(),
            repos: ["acme/site".to_owned()].into(),
        }
    }

    #[test]
    fn what_is_not_restricted_is_open_to_anybody() {
        let nobody = actor(&[], &[]);
        assert_eq!(can_run_agent(&nobody, &closed(), "general"), Ok(()));
        assert_eq!(can_use_repo(&nobody, &closed(), "acme/docs"), Ok(()));
        assert_eq!(
            can_run_agent(&nobody, &Restrictions::default(), "coding"),
            Ok(())
        );
    }

    #[test]
    fn restricted_agent_requires_a_grant() {
        for grants in [["agent:run:coding"], ["agent:run:*"]] {
            assert_eq!(
                can_run_agent(&actor(&grants, &[]), &closed(), "coding"),
                Ok(())
            );
        }
        for grants in [
            vec![],
            vec!["dispatch"],
            vec!["agent:run:review"],
            vec!["*"],
            vec!["agent:*"],
            vec!["coding"],
        ] {
            assert_eq!(
                can_run_agent(&actor(&grants, &[]), &closed(), "coding"),
                Err(Denied::MissingGrant),
                "{grants:?}"
            );
        }
        assert_eq!(
            can_run_agent(&Actor::cli_local(), &closed(), "coding"),
            Ok(())
        );
    }

    #[test]
    fn issues_are_written_with_a_grant_only() {
        assert_eq!(
            can_write_issues(&actor(&["issue:write"], &[]), "acme/docs"),
            Ok(())
        );
        assert_eq!(can_write_issues(&Actor::cli_local(), "acme/docs"), Ok(()));
        for grants in [
            vec![],
            vec!["dispatch"],
            vec!["repo:write"],
            vec!["issue:*"],
        ] {
            let denied = can_write_issues(&actor(&grants, &["acme/docs"]), "acme/docs");
            assert_eq!(denied, Err(Denied::MissingGrant), "{grants:?}");
        }
    }

    #[test]
    fn restricted_repository_requires_the_repos_axis() {
        assert_eq!(
            can_use_repo(&actor(&[], &["acme/site"]), &closed(), "acme/site"),
            Ok(())
        );
        assert_eq!(
            can_use_repo(&Actor::cli_local(), &closed(), "acme/site"),
            Ok(())
        );
        for other in [
            actor(&["repo:write", "repo:use"], &[]),
            actor(&["acme/site"], &["acme/docs"]),
        ] {
            assert_eq!(
                can_use_repo(&other, &closed(), "acme/site"),
                Err(Denied::MissingGrant)
            );
        }
    }

    #[test]
    fn another_spelling_does_not_open_a_restricted_repository() {
        assert_eq!(
            can_use_repo(&actor(&[], &[]), &closed(), "Acme/Site"),
            Err(Denied::MissingGrant)
        );
        assert_eq!(
            can_use_repo(&actor(&[], &["acme/site"]), &closed(), "Acme/Site"),
            Ok(())
        );
    }
}
