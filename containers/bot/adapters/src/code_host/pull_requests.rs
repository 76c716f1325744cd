//! Pull requests.

use ars_bot_ports::{
    CodeHostError,
    code_host::{NewPullRequest, PullRequestFacts, PullRequestHit},
};
use ars_codehost::{
    diff::Commit,
    parse_slug,
    pull_request::PullRequestText,
    review::{PullRequest, PullRequestState},
};
use ars_types::{RefName, RepoSlug};
use serde_json::json;

use super::{
    account::GitHub,
    wire::{self, login, part, time},
};

/// Reads a pull request.
pub(super) async fn get(
    github: &GitHub,
    repository: &RepoSlug,
    number: u64,
) -> Result<PullRequestFacts, CodeHostError> {
    let own = github.login().await?;
    let found: wire::PullRequest = github
        .client
        .get(&format!("/repos/{repository}/pulls/{number}"))
        .await?;
    let (state, is_own) = (state(&found), GitHub::is_own(own, found.user.as_ref()));
    Ok(PullRequestFacts {
        url: github
            .client
            .transport
            .host
            .pull_request_url(repository, number),
        is_draft: found.draft,
        author: login(found.user),
        is_own,
        changed_files: found.changed_files,
        additions: found.additions,
        deletions: found.deletions,
        opened_at: time(&found.created_at)?,
        closed_at: found.closed_at.as_deref().map(time).transpose()?,
        merged_at: found.merged_at.as_deref().map(time).transpose()?,
        pull_request: PullRequest {
            repository: repository.clone(),
            number: found.number,
            state,
            // The host keeps a branch's last commit after the repository was deleted.
            head: found
                .head
                .repo
                .is_some()
                .then(|| Commit::parse(&found.head.sha))
                .flatten(),
            head_branch: found.head.name,
            base_branch: found.base.name,
            title: found.title,
            description: found.body.unwrap_or_default(),
        },
        head_repository: found.head.repo.and_then(|repo| parse_slug(&repo.full_name)),
    })
}

/// Finds a branch's pull request: the open request, or else the newest.
pub(super) async fn of_branch(
    github: &GitHub,
    repository: &RepoSlug,
    branch: &RefName,
) -> Result<Option<PullRequestHit>, CodeHostError> {
    let own = github.login().await?;
    let owner = repository.as_str().split('/').next().unwrap_or_default();
    let head = part(&format!("{owner}:{branch}"));
    let route =
        format!("/repos/{repository}/pulls?state=all&head={head}&sort=created&direction=desc");
    let found: Vec<wire::PullRequest> = github.client.get(&route).await?;
    // A version that does not know the filter would list other branches' requests.
    let mut found: Vec<_> = found
        .into_iter()
        .filter(|one| one.head.name == branch.as_str())
        .collect();
    found.sort_by_key(|one| (one.state != "open", std::cmp::Reverse(one.number)));
    Ok(found.first().map(|found| hit(own, found)))
}

/// Opens a pull request.
pub(super) async fn open(
    github: &GitHub,
    repository: &RepoSlug,
    request: &NewPullRequest,
) -> Result<PullRequestHit, CodeHostError> {
    let own = github.login().await?;
    let NewPullRequest {
        text,
        head,
        base,
        is_draft,
    } = request;
    let body = json!({
        "title": text.title, "body": text.body, "head": head.as_str(), "base": base.as_str(), "draft": is_draft,
        "maintainer_can_modify": true,
    });
    let made: wire::PullRequest = github
        .client
        .post(&format!("/repos/{repository}/pulls"), &body)
        .await?;
    Ok(hit(own, &made))
}

/// Replaces a pull request's texts.
pub(super) async fn edit(
    github: &GitHub,
    repository: &RepoSlug,
    number: u64,
    text: &PullRequestText,
) -> Result<PullRequestHit, CodeHostError> {
    let own = github.login().await?;
    let route = format!("/repos/{repository}/pulls/{number}");
    let edited: wire::PullRequest = github
        .client
        .patch(&route, &json!({ "title": text.title, "body": text.body }))
        .await?;
    Ok(hit(own, &edited))
}

fn hit(own: &str, found: &wire::PullRequest) -> PullRequestHit {
    PullRequestHit {
        number: found.number,
        url: found.html_url.clone(),
        title: found.title.clone(),
        state: state(found),
        is_own: GitHub::is_own(own, found.user.as_ref()),
    }
}

fn state(found: &wire::PullRequest) -> PullRequestState {
    match (found.state.as_str(), &found.merged_at) {
        (_, Some(_)) => PullRequestState::Merged,
        ("open", None) => PullRequestState::Open,
        (_, None) => PullRequestState::Closed,
    }
}
