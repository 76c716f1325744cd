//! Reviews and their comment threads. Threads exist only in the GraphQL API.

use ars_bot_ports::{
    CodeHostError,
    code_host::{Listed, PostedReview, ReviewThread, ThreadReply},
};
use ars_codehost::{
    answer::Meaning,
    review::{OwnReview, Submission},
};
use ars_types::RepoSlug;
use serde_json::{Value, json};

use super::{
    account::{BOT, GitHub},
    call::{Operation, TokenScope},
    wire::{self, PAGE},
};

/// Maximum review pages read for a pull request.
const MAX_REVIEW_PAGES: usize = 10;
/// A pull request's newest threads, with their last replies on demand.
const THREADS: &str = "query($owner: String!, $name: String!, $number: Int!, $replies: Boolean!) { \
    repository(owner: $owner, name: $name) { pullRequest(number: $number) { \
    reviewThreads(last: 100) { pageInfo { hasPreviousPage } nodes { id isResolved isOutdated path line \
    comments(first: 1) { totalCount nodes { id body author { login __typename } } } \
    latest: comments(last: 10) @include(if: $replies) { nodes { id body author { login __typename } } } \
    } } } } }";
/// GraphQL mutation that resolves a thread.
const RESOLVE: &str =
    "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }";

/// Lists a pull request's reviews.
pub(super) async fn list(
    github: &GitHub,
    repository: &RepoSlug,
    number: u64,
) -> Result<Vec<OwnReview>, CodeHostError> {
    let login = github.login().await?;
    let mut reviews = Vec::new();
    for page in 1..=MAX_REVIEW_PAGES {
        let route =
            format!("/repos/{repository}/pulls/{number}/reviews?per_page={PAGE}&page={page}");
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

/// Posts a review on a pull request.
pub(super) async fn submit(
    github: &GitHub,
    repository: &RepoSlug,
    number: u64,
    submission: &Submission,
) -> Result<PostedReview, CodeHostError> {
    let route = format!("/repos/{repository}/pulls/{number}/reviews");
    let posted: wire::Review = github.client.post(&route, submission).await?;
    Ok(PostedReview {
        id: posted.id,
        url: posted.html_url,
    })
}

/// Lists a pull request's newest threads, with their last replies if `replies` is set.
pub(super) async fn threads(
    github: &GitHub,
    repository: &RepoSlug,
    number: u64,
    replies: bool,
) -> Result<Listed<ReviewThread>, CodeHostError> {
    let login = github.login().await?;
    let (owner, name) = repository
        .as_str()
        .split_once('/')
        .ok_or(CodeHostError::Unreadable)?;
    let variables = json!({ "owner": owner, "name": name, "number": number, "replies": replies });
    let answer = github
        .client
        .graphql(repository, &Operation::Query(THREADS), &variables)
        .await?;
    let found = &answer["repository"]["pullRequest"]["reviewThreads"];
    let nodes = found["nodes"]
        .as_array()
        .ok_or(CodeHostError::Answer(Meaning::NotFound))?;
    let entries = nodes
        .iter()
        .filter_map(|node| thread(node, login))
        .collect();
    Ok(Listed {
        entries,
        truncated: found["pageInfo"]["hasPreviousPage"] == true,
    })
}

/// Lists the newest threads with their last replies, or without replies if they are too large.
pub(super) async fn discussion(
    github: &GitHub,
    repository: &RepoSlug,
    number: u64,
) -> Result<Listed<ReviewThread>, CodeHostError> {
    match threads(github, repository, number, true).await {
        Err(CodeHostError::TooLarge(_)) => threads(github, repository, number, false).await,
        listed => listed,
    }
}

fn thread(node: &Value, login: &str) -> Option<ReviewThread> {
    let comments = &node["comments"];
    let first = &comments["nodes"][0];
    let author = author(first);
    let latest = node["latest"]["nodes"].as_array().into_iter().flatten();
    let replies: Vec<ThreadReply> = latest
        .filter(|one| one["id"] != first["id"])
        .map(|one| ThreadReply {
            author: self::author(one),
            body: text(&one["body"]),
        })
        .collect();
    let total = comments["totalCount"].as_u64().unwrap_or_default();
    Some(ReviewThread {
        id: node["id"].as_str()?.to_owned(),
        is_own: author.eq_ignore_ascii_case(login),
        is_resolved: node["isResolved"] == true,
        is_outdated: node["isOutdated"] == true,
        path: text(&node["path"]),
        line: node["line"].as_u64(),
        author,
        body: text(&first["body"]),
        earlier_replies: total.saturating_sub(replies.len() as u64 + 1),
        replies,
    })
}

/// Returns a comment author's login, as the REST API names it.
fn author(comment: &Value) -> String {
    let author = &comment["author"];
    match (author["login"].as_str(), author["__typename"].as_str()) {
        // GraphQL names an app's account without the suffix.
        (Some(name), Some("Bot")) => format!("{}{BOT}", name.trim_end_matches(BOT)),
        (Some(name), _) => name.to_owned(),
        (None, _) => wire::login(None),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Resolves a thread. Resolving it twice has no further effect.
pub(super) async fn resolve(
    github: &GitHub,
    repository: &RepoSlug,
    thread: &str,
) -> Result<(), CodeHostError> {
    let variables = json!({ "id": thread });
    let mutation = Operation::IdempotentMutation {
        text: RESOLVE,
        scope: TokenScope::Resolve,
    };
    github
        .client
        .graphql(repository, &mutation, &variables)
        .await
        .map(|_| ())
}
