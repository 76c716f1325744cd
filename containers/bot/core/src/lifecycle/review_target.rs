//! The pull request that a review run is about, before the first model call.
//!
//! The head is read, fetched and checked out, and a review starts only on that commit. Not here:
//! the choice (`ars_codehost::review`), and the post (`review_post`).

use ars_bot_ports::{CodeHost, CodeHostError, Refusal, Workspace, WorkspaceError};
use ars_codehost::{
    diff::Commit,
    resolve::{Listing, Strength, resolve, signals},
    review::{PullRequest, TargetRefused, attached_head, review_target, target_block, wants_post},
    text::neutral_line,
    webhook::item_of_thread,
};
use ars_events::wrap_untrusted;
use ars_types::{RepoSlug, ThreadKey};
use tokio_util::sync::CancellationToken;

use crate::run::{ReviewTarget, RunCodeHost};

/// Maximum number of a pull request's own threads in a prompt.
const MAX_SHOWN_THREADS: usize = 50;
/// Maximum items that a request may name, because the host is asked about each.
const MAX_NAMED_ITEMS: usize = 10;
/// Maximum characters of thread text in a prompt.
const MAX_THREAD_CHARS: usize = 500;

/// A request that may name a pull request.
#[derive(Clone, Copy)]
pub(super) struct NamingRequest<'a> {
    pub(super) text: &'a str,
    pub(super) thread: &'a ThreadKey,
    /// A coding run changes the pull request, or nothing.
    pub(super) must_continue: bool,
}

/// A checked-out pull request, and the prompt part about it.
pub(super) struct AttachedTarget {
    pub(super) target: ReviewTarget,
    pub(super) block: String,
}

/// Finds the pull request from the request's text or the thread, and checks the head out. `None` if
/// the tree alone is reviewed.
pub(super) async fn attach(
    access: &RunCodeHost,
    workspace: &dyn Workspace,
    request: NamingRequest<'_>,
    cancel: &CancellationToken,
) -> Result<Option<AttachedTarget>, Refusal> {
    let host = &*access.host;
    let Some(repository) = access.repository_of(workspace) else {
        return Ok(None);
    };
    access.check_read(&repository)?;
    let posts = wants_post(request.text);
    let named = match number_of(access, &repository, request).await? {
        Some(number) => Some(fetch(host, &repository, number).await?),
        None => None,
    };
    let of_thread = match (&named, workspace.pushed_branch().await) {
        (None, Some(branch)) => {
            let hit = host
                .pull_request_of_branch(&repository, &branch)
                .await
                .map_err(|error| failed(&error))?;
            match hit {
                Some(hit) => fetch(host, &repository, hit.number).await?,
                None => None,
            }
        }
        _ => None,
    };
    let chosen = review_target(named, of_thread, posts).map_err(refused)?;
    let Some((pull_request, head)) = chosen
        .and_then(|chosen| Some((chosen.head.clone()?, chosen)))
        .map(|(a, b)| (b, a))
    else {
        return Ok(None);
    };
    let attached = check_out(workspace, pull_request.number, &head, cancel).await?;
    let now = match attached == head {
        true => None,
        false => fetch(host, &repository, pull_request.number)
            .await?
            .and_then(|now| now.head),
    };
    let head = attached_head(&head, &attached, now.as_ref()).map_err(refused)?;
    let block = format!(
        "{}{}",
        target_block(&pull_request, &head),
        threads(host, &pull_request).await
    );
    let base = pull_request.base_branch.clone();
    let target = ReviewTarget::new(repository, pull_request.number, base, &head, posts);
    Ok(Some(AttachedTarget { target, block }))
}

/// Checks a head out, and returns the commit that the tree has then.
pub(super) async fn check_out(
    workspace: &dyn Workspace,
    number: u64,
    head: &Commit,
    cancel: &CancellationToken,
) -> Result<Commit, Refusal> {
    let at = async || {
        let head = workspace.head().await.map_err(Refusal::WorkspaceNotReady)?;
        Ok::<_, Refusal>(head.as_deref().and_then(Commit::parse))
    };
    if let Some(attached) = at().await?.filter(|attached| attached == head) {
        return Ok(attached);
    }
    workspace
        .check_out(number, head, cancel)
        .await
        .map_err(Refusal::WorkspaceNotReady)?;
    at().await?
        .ok_or_else(|| refused(TargetRefused::UnknownHead))
}

/// Returns the number of the pull request or issue that a request is about. It is named by the
/// text, or else the thread's. If several are named, it is the only pull request among them.
pub(super) async fn number_of(
    access: &RunCodeHost,
    repository: &RepoSlug,
    request: NamingRequest<'_>,
) -> Result<Option<u64>, Refusal> {
    let host = &*access.host;
    let mut found = signals(request.text, host.host());
    found.retain(|signal| signal.repository == *repository && signal.strength == Strength::Strong);
    let numbers = resolve(&found, None, |_| Listing::Known).pull_requests();
    let Some(first) = numbers.first() else {
        let of_thread = item_of_thread(request.thread.as_str());
        return Ok(of_thread
            .filter(|(own, _)| own == repository)
            .map(|(_, number)| number));
    };
    if numbers.len() == 1 {
        return Ok(Some(*first));
    }
    if numbers.len() > MAX_NAMED_ITEMS {
        return Err(several(&numbers[..MAX_NAMED_ITEMS], ", …"));
    }
    access.check_read(repository)?;
    let mut pull_requests = Vec::new();
    for number in &numbers {
        if fetch(host, repository, *number).await?.is_some() {
            pull_requests.push(*number);
        }
    }
    match pull_requests[..] {
        [] => Ok(Some(*first)),
        [one] => Ok(Some(one)),
        _ => Err(several(&pull_requests, "")),
    }
}

fn several(numbers: &[u64], rest: &str) -> Refusal {
    let names = numbers
        .iter()
        .map(|number| format!("#{number}"))
        .collect::<Vec<_>>()
        .join(", ");
    let text = format!(
        "the request names several pull requests: {names}{rest}. Send it again with one of them"
    );
    Refusal::WorkspaceNotReady(WorkspaceError::Refused(text))
}

async fn fetch(
    host: &dyn CodeHost,
    repository: &RepoSlug,
    number: u64,
) -> Result<Option<PullRequest>, Refusal> {
    match host.pull_request(repository, number).await {
        Ok(facts) => Ok(Some(facts.pull_request)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(failed(&error)),
    }
}

/// Describes the service's open threads, so that the review can verify their fixes.
async fn threads(host: &dyn CodeHost, pull_request: &PullRequest) -> String {
    let listed = host
        .review_threads(&pull_request.repository, pull_request.number)
        .await;
    let listed = listed.map(|listed| listed.entries).unwrap_or_default();
    let open = listed
        .iter()
        .filter(|thread| thread.is_own && !thread.is_resolved)
        .take(MAX_SHOWN_THREADS);
    let shown: Vec<String> = open
        .map(|thread| {
            let line = thread
                .line
                .map_or_else(|| "outdated".to_owned(), |line| line.to_string());
            let path = neutral_line(&thread.path, MAX_THREAD_CHARS);
            format!(
                "- id {}, {path}:{line}: {}",
                thread.id,
                neutral_line(&thread.body, MAX_THREAD_CHARS)
            )
        })
        .collect();
    if shown.is_empty() {
        return String::new();
    }
    let list = wrap_untrusted(&shown.join("\n"));
    format!(
        "\n\nEarlier reviews of this service left these findings open. Verify each at this commit, and pass the ids \
         of the fixed ones as `fixed`.\n\n{list}"
    )
}

fn refused(why: TargetRefused) -> Refusal {
    let text = match why {
        TargetRefused::NotFound => {
            "the code host has no such pull request, or the service may not see it"
        }
        TargetRefused::UnknownHead => {
            "the head of the pull request is not known, so a review could not be posted. Add `post:off` to review the \
             tree without a post"
        }
        TargetRefused::Moved => "the pull request has new commits. Send the request again",
    };
    Refusal::WorkspaceNotReady(WorkspaceError::Refused(text.to_owned()))
}

pub(super) fn failed(error: &CodeHostError) -> Refusal {
    Refusal::WorkspaceNotReady(WorkspaceError::Refused(error.to_string()))
}
