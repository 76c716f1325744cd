//! Reviews, and the threads of their comments. Threads exist in the second interface only.

use ars_bot_ports::{
    CodeHostError,
    code_host::{Listed, PostedReview, ReviewThread},
};
use ars_codehost::{
    answer::Meaning,
    review::{OwnReview, Submission},
};
use ars_types::RepoSlug;
use serde_json::{Value, json};

use super::{
    account::GitHub,
    call::Scope,
    wire::{self, PAGE},
};

/// Maximum pages of reviews of a pull request.
const MAX_REVIEW_PAGES: usize = 10;
/// The threads of a pull request.
const THREADS: &str = "query($owner: String!, $name: String!, $number: Int!) { \
    repository(owner: $owner, name: $name) { pullRequest(number: $number) { \
    reviewThreads(first: 100) { pageInfo { hasNextPage } nodes { \
    id isResolved isOutdated path line comments(first: 1) { nodes { body author { login __typename } } } } } } } }";
/// Resolves a thread.
const RESOLVE: &str =
    "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }";

/// Lists the reviews of a pull request.
pub(super) async fn list(
    github: &GitHub,
    repository: &RepoSlug,
    number: u64,
) -> Result<Vec<OwnReview>, CodeHostError> {
    let login = github.login().await?;
    let mut reviews = Vec::new();
    for page in 1..=MAX_REVIEW_PAGES {
        let route = format!("/repos/{repository}/pulls/{number}/reviews?per_page={PAGE}&page={page}");
        let found: Vec<wire::Review> = github.client.get(&route).await?;
        let is_last = found.len() < PAGE;
        let own = |one: wire::Review| OwnReview {
            is_own: GitHub::is_own(login, one.user.as_ref()),
            body: one.body,
        };
        reviews.extend(found.into_iter().map(own));
        if is_last {
            return Ok(reviews);
        }
    }
    // An own review beyond the limit would be posted twice.
    Err(CodeHostError::TooLarge(MAX_REVIEW_PAGES * PAGE))
}

/// Posts a review.
pub(super) async fn submit(
    github: &GitHub,
    repository: &RepoSlug,
    number: u64,
    submission: &Submission,
) -> Result<PostedReview, CodeHostError> {
    let route = format!("/repos/{repository}/pulls/{number}/reviews");
    let posted: wire::Review = github.client.post(&route, submission).await?;
    Ok(PostedReview { id: posted.id, url: posted.html_url })
}

/// Lists the threads of a pull request.
pub(super) async fn threads(
    github: &GitHub,
    repository: &RepoSlug,
    number: u64,
) -> Result<Listed<ReviewThread>, CodeHostError> {
    let login = github.login().await?;
    let (owner, name) = repository.as_str().split_once('/').ok_or(CodeHostError::Unreadable)?;
    let variables = json!({ "owner": owner, "name": name, "number": number });
    let answer = github.client.graphql(repository, Scope::Read, THREADS, &variables).await?;
    let found = &answer["repository"]["pullRequest"]["reviewThreads"];
    let nodes = found["nodes"].as_array().ok_or(CodeHostError::Answer(Meaning::NotFound))?;
    let entries = nodes.iter().filter_map(|node| thread(node, login)).collect();
    Ok(Listed { entries, truncated: found["pageInfo"]["hasNextPage"] == true })
}

fn thread(node: &Value, login: &str) -> Option<ReviewThread> {
    let first = &node["comments"]["nodes"][0];
    let author = &first["author"];
    // This interface names an app's account without its end.
    let author = match (author["login"].as_str(), author["__typename"].as_str()) {
        (Some(name), Some("Bot")) => format!("{}[bot]", name.trim_end_matches("[bot]")),
        (Some(name), _) => name.to_owned(),
        (None, _) => String::new(),
    };
    Some(ReviewThread {
        id: node["id"].as_str()?.to_owned(),
        is_own: author.eq_ignore_ascii_case(login),
        is_resolved: node["isResolved"] == true,
        is_outdated: node["isOutdated"] == true,
        path: node["path"].as_str().unwrap_or_default().to_owned(),
        line: node["line"].as_u64(),
        body: first["body"].as_str().unwrap_or_default().to_owned(),
    })
}

/// Resolves a thread.
pub(super) async fn resolve(
    github: &GitHub,
    repository: &RepoSlug,
    thread: &str,
) -> Result<(), CodeHostError> {
    let variables = json!({ "id": thread });
    github.client.graphql(repository, Scope::Write, RESOLVE, &variables).await.map(|_| ())
}
