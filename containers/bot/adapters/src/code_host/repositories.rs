//! Repositories, branches, comparisons, and credentials for git.

use ars_bot_ports::{
    CodeHostError,
    code_host::{Comparison, GitAccess, GitCredential, Listed, RepositoryFacts},
};
use ars_codehost::{diff::Commit, parse_slug};
use ars_types::{RefName, RepoSlug};
use serde::Deserialize;

use super::{
    account::GitHub,
    call::{Access, TokenScope},
    credentials::Credentials,
    files,
    wire::{self, PAGE, part, parts},
};

/// Maximum repository pages that are listed.
const MAX_REPOSITORY_PAGES: usize = 5;
/// Git user name for an installation token.
const GIT_USER: &str = "x-access-token";
/// Maximum files that the host lists in a comparison.
const MAX_COMPARED_FILES: usize = 300;

#[derive(Deserialize)]
struct Installed {
    repositories: Vec<wire::Repository>,
}

/// Lists the installation's repositories, or those that the token's user has.
pub(super) async fn list(github: &GitHub) -> Result<Listed<RepositoryFacts>, CodeHostError> {
    let is_app = matches!(github.client.transport.credentials, Credentials::App { .. });
    let mut entries = Vec::new();
    for page in 1..=MAX_REPOSITORY_PAGES {
        let found = if is_app {
            let route = format!("/installation/repositories?per_page={PAGE}&page={page}");
            github.client.get::<Installed>(&route).await?.repositories
        } else {
            github
                .client
                .get(&format!("/user/repos?per_page={PAGE}&page={page}"))
                .await?
        };
        let is_last = found.len() < PAGE;
        // A name that the service cannot represent is no repository that it can use.
        entries.extend(found.into_iter().filter_map(|one| facts(one).ok()));
        if is_last {
            return Ok(Listed {
                entries,
                truncated: false,
            });
        }
    }
    Ok(Listed {
        entries,
        truncated: true,
    })
}

/// Reads a repository's facts.
pub(super) async fn get(
    github: &GitHub,
    repository: &RepoSlug,
) -> Result<RepositoryFacts, CodeHostError> {
    facts(github.client.get(&format!("/repos/{repository}")).await?)
}

fn facts(found: wire::Repository) -> Result<RepositoryFacts, CodeHostError> {
    Ok(RepositoryFacts {
        repository: parse_slug(&found.full_name).ok_or(CodeHostError::Unreadable)?,
        default_branch: found.default_branch,
        description: found.description.unwrap_or_default(),
        is_private: found.private,
        is_archived: found.archived,
    })
}

/// Reads a branch's head commit.
pub(super) async fn branch_head(
    github: &GitHub,
    repository: &RepoSlug,
    branch: &RefName,
) -> Result<Option<Commit>, CodeHostError> {
    let route = format!(
        "/repos/{repository}/git/ref/heads/{}",
        parts(branch.as_str())
    );
    match github.client.get::<wire::Reference>(&route).await {
        Ok(found) => Commit::parse(&found.object.sha)
            .map(Some)
            .ok_or(CodeHostError::Unreadable),
        // The repository itself may be hidden too, which is no missing branch.
        Err(error) if error.is_not_found() => get(github, repository).await.map(|_| None),
        Err(error) => Err(error),
    }
}

/// Compares two git refs.
pub(super) async fn compare(
    github: &GitHub,
    repository: &RepoSlug,
    base: &str,
    head: &str,
) -> Result<Comparison, CodeHostError> {
    let route = format!(
        "/repos/{repository}/compare/{}...{}?per_page={PAGE}",
        part(base),
        part(head)
    );
    let found: wire::Comparison = github.client.get(&route).await?;
    let truncated = found.files.len() >= MAX_COMPARED_FILES;
    Ok(Comparison {
        ahead: found.ahead_by,
        behind: found.behind_by,
        merge_base: found
            .merge_base_commit
            .and_then(|commit| Commit::parse(&commit.sha)),
        files: files::of_wire(found.files, truncated),
    })
}

/// Returns a git credential.
pub(super) async fn git_credential(
    github: &GitHub,
    repository: &RepoSlug,
    access: GitAccess,
) -> Result<GitCredential, CodeHostError> {
    if let Credentials::Token(token) = &github.client.transport.credentials {
        return Ok(GitCredential {
            user: GIT_USER,
            password: token.clone(),
            expires_at: None,
        });
    }
    let token = github
        .client
        .transport
        .token(&access_of(repository, access))
        .await?;
    Ok(GitCredential {
        user: GIT_USER,
        password: token.secret,
        expires_at: Some(token.expires_at),
    })
}

/// Drops a git credential that the host rejected.
pub(super) fn reject_git_credential(
    github: &GitHub,
    repository: &RepoSlug,
    access: GitAccess,
    rejected: &GitCredential,
) {
    github
        .client
        .transport
        .reject(&access_of(repository, access), &rejected.password);
}

fn access_of(repository: &RepoSlug, access: GitAccess) -> Access {
    let scope = match access {
        GitAccess::Read => TokenScope::GitRead,
        GitAccess::Write => TokenScope::GitWrite,
    };
    Access::Repository(repository.clone(), scope)
}
