//! Issues and comments.

use ars_bot_ports::{
    CodeHostError,
    code_host::{Comment, Issue, IssueEdit, IssueFilter, IssueState, Listed, NewIssue},
};
use ars_codehost::parse_slug;
use ars_types::RepoSlug;
use serde_json::{Map, Value, json};

use super::{
    account::GitHub,
    files::qualified,
    wire::{self, PAGE, login, part, time},
};

/// Maximum issue pages that a listing reads.
const MAX_ISSUE_PAGES: usize = 3;
/// Maximum comment pages that a listing reads, from the end.
const MAX_COMMENT_PAGES: usize = 3;

/// Reads an issue by number.
pub(super) async fn issue(
    github: &GitHub,
    repository: &RepoSlug,
    number: u64,
) -> Result<Issue, CodeHostError> {
    of_wire(
        github
            .client
            .get(&format!("/repos/{repository}/issues/{number}"))
            .await?,
    )
}

/// Lists a repository's issues.
pub(super) async fn issues(
    github: &GitHub,
    repository: &RepoSlug,
    filter: &IssueFilter,
) -> Result<Listed<Issue>, CodeHostError> {
    let state = filter.state.map_or("all", word);
    let labels = part(&filter.labels.join(","));
    let mut entries = Vec::new();
    for page in 1..=MAX_ISSUE_PAGES {
        let route = format!(
            "/repos/{repository}/issues?state={state}&labels={labels}&sort=created&direction=desc\
             &per_page={PAGE}&page={page}"
        );
        let found: Vec<wire::Issue> = github.client.get(&route).await?;
        let is_last = found.len() < PAGE;
        let issues = found.into_iter().filter(|one| one.pull_request.is_none());
        entries.extend(issues.map(of_wire).collect::<Result<Vec<_>, _>>()?);
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

/// Searches issues and pull requests.
pub(super) async fn search(
    github: &GitHub,
    repository: &RepoSlug,
    query: &str,
) -> Result<Listed<Issue>, CodeHostError> {
    let words = part(&qualified(repository, query)?);
    let found: wire::SearchPage<wire::Issue> = github
        .client
        .search(
            repository,
            &format!("/search/issues?q={words}&per_page={PAGE}"),
        )
        .await?;
    hits(repository, found)
}

/// Returns the hits in the repository. The token may see others too.
fn hits(
    repository: &RepoSlug,
    found: wire::SearchPage<wire::Issue>,
) -> Result<Listed<Issue>, CodeHostError> {
    let truncated = found.total_count > found.items.len() as u64;
    let is_own = |one: &wire::Issue| {
        let slug = one
            .repository_url
            .rsplit_once("/repos/")
            .map(|(_, slug)| slug);
        slug.and_then(parse_slug).as_ref() == Some(repository)
    };
    let entries = found
        .items
        .into_iter()
        .filter(is_own)
        .map(of_wire)
        .collect::<Result<_, _>>()?;
    Ok(Listed { entries, truncated })
}

/// Creates an issue in a repository.
pub(super) async fn create(
    github: &GitHub,
    repository: &RepoSlug,
    issue: &NewIssue,
) -> Result<Issue, CodeHostError> {
    let NewIssue {
        title,
        body,
        labels,
        assignees,
    } = issue;
    let fields = json!({ "title": title, "body": body, "labels": labels, "assignees": assignees });
    of_wire(
        github
            .client
            .post(&format!("/repos/{repository}/issues"), &fields)
            .await?,
    )
}

/// Changes an existing issue.
pub(super) async fn edit(
    github: &GitHub,
    repository: &RepoSlug,
    number: u64,
    edit: &IssueEdit,
) -> Result<Issue, CodeHostError> {
    let IssueEdit {
        title,
        body,
        state,
        labels,
        assignees,
    } = edit;
    let mut fields = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            fields.insert(name.to_owned(), value);
        }
    };
    put("title", title.as_deref().map(Value::from));
    put("body", body.as_deref().map(Value::from));
    put("state", state.map(|state| word(state).into()));
    put("labels", labels.clone().map(Value::from));
    put("assignees", assignees.clone().map(Value::from));
    of_wire(
        github
            .client
            .patch(&format!("/repos/{repository}/issues/{number}"), &fields)
            .await?,
    )
}

/// Lists comments, oldest first. For a long discussion these are the last comments.
pub(super) async fn comments(
    github: &GitHub,
    repository: &RepoSlug,
    number: u64,
) -> Result<Listed<Comment>, CodeHostError> {
    let own = github.login().await?;
    let route = |page: usize| {
        format!("/repos/{repository}/issues/{number}/comments?per_page={PAGE}&page={page}")
    };
    let mut found: Vec<wire::Comment> = github.client.get(&route(1)).await?;
    let mut first = 1;
    if found.len() == PAGE {
        let total = usize::try_from(issue(github, repository, number).await?.comments)
            .unwrap_or(usize::MAX);
        first = total
            .div_ceil(PAGE)
            .saturating_sub(MAX_COMMENT_PAGES - 1)
            .max(1);
        if first > 1 {
            found.clear();
        }
        for page in first.max(2)..first + MAX_COMMENT_PAGES {
            let more: Vec<wire::Comment> = github.client.get(&route(page)).await?;
            let is_last = more.len() < PAGE;
            found.extend(more);
            if is_last {
                break;
            }
        }
    }
    let entries = found
        .into_iter()
        .map(|one| comment_of(one, own))
        .collect::<Result<_, _>>()?;
    Ok(Listed {
        entries,
        truncated: first > 1,
    })
}

/// Comments on an issue or pull request.
pub(super) async fn comment(
    github: &GitHub,
    repository: &RepoSlug,
    number: u64,
    body: &str,
) -> Result<Comment, CodeHostError> {
    let own = github.login().await?;
    let route = format!("/repos/{repository}/issues/{number}/comments");
    comment_of(
        github.client.post(&route, &json!({ "body": body })).await?,
        own,
    )
}

/// Replaces a comment's text.
pub(super) async fn edit_comment(
    github: &GitHub,
    repository: &RepoSlug,
    comment: u64,
    body: &str,
) -> Result<Comment, CodeHostError> {
    let own = github.login().await?;
    let route = format!("/repos/{repository}/issues/comments/{comment}");
    comment_of(
        github
            .client
            .patch(&route, &json!({ "body": body }))
            .await?,
        own,
    )
}

fn comment_of(found: wire::Comment, own: &str) -> Result<Comment, CodeHostError> {
    Ok(Comment {
        id: found.id,
        url: found.html_url,
        is_own: GitHub::is_own(own, found.user.as_ref()),
        author: login(found.user),
        body: found.body.unwrap_or_default(),
        created_at: time(&found.created_at)?,
    })
}

fn of_wire(found: wire::Issue) -> Result<Issue, CodeHostError> {
    Ok(Issue {
        number: found.number,
        url: found.html_url,
        state: if found.state == "open" {
            IssueState::Open
        } else {
            IssueState::Closed
        },
        is_pull_request: found.pull_request.is_some(),
        title: found.title,
        body: found.body.unwrap_or_default(),
        author: login(found.user),
        labels: found.labels.into_iter().map(|label| label.name).collect(),
        comments: found.comments,
        updated_at: time(&found.updated_at)?,
    })
}

const fn word(state: IssueState) -> &'static str {
    match state {
        IssueState::Open => "open",
        IssueState::Closed => "closed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_of_other_repositories_are_dropped() {
        let item = |number: u64, of: &str| {
            json!({
                "number": number, "html_url": "", "state": "open", "title": "Slow", "updated_at": "2026-01-02T03:04:05Z",
                "repository_url": of,
            })
        };
        let items = [
            item(1, "https://api.github.com/repos/Acme/App"),
            item(2, "https://api.github.com/repos/acme/secret"),
            item(3, ""),
        ];
        let found = serde_json::from_value(json!({ "total_count": 3, "items": items })).unwrap();
        let listed = hits(&RepoSlug::parse("acme/app").unwrap(), found).unwrap();
        let numbers: Vec<u64> = listed.entries.iter().map(|issue| issue.number).collect();
        assert_eq!(numbers, [1]);
    }
}
