//! Pull request and comparison pages for people, as plain text.

use std::fmt::Write as _;

use super::{
    answer::Answer,
    auth::{self, App},
    diff, pulls,
    request::{Request, decoded},
    state::{FakeItem, FakePull, FakeRepository, HostState},
};

/// How many commit characters are shown.
const SHORT: usize = 10;

/// Answers `/<owner>/<name>/pull/<number>` and `/<owner>/<name>/compare/<base>...<head>`.
pub(super) fn answer(state: &mut HostState, app: &App, request: &Request) -> Answer {
    let path = decoded(request.path.trim_matches('/')).to_ascii_lowercase();
    let mut parts = path.splitn(4, '/');
    let [owner, name, kind, rest] = [(); 4].map(|()| parts.next().unwrap_or_default());
    let name = format!("{owner}/{name}");
    let is_seen = auth::caller(state, app, request).is_ok_and(|caller| caller.sees(&name));
    if !is_seen || !state.repositories.contains_key(&name) {
        return Answer::not_found();
    }
    pulls::refresh(state, &name);
    let repository = &state.repositories[&name];
    let text = match (request.method.as_str(), kind) {
        ("GET", "pull") => {
            pulls::find(repository, rest).map(|(item, pull)| page(repository, item, pull))
        }
        ("GET", "compare") => rest
            .split_once("...")
            .map(|(base, head)| diff::unified(&repository.path, base, head)),
        _ => None,
    };
    match text {
        Some(text) => {
            Answer::text(200, text.into_bytes()).header("x-content-type-options", "nosniff")
        }
        None => Answer::not_found(),
    }
}

fn page(repository: &FakeRepository, item: &FakeItem, pull: &FakePull) -> String {
    let FakeItem {
        number,
        title,
        body,
        user,
        ..
    } = item;
    let FakePull {
        head, sha, base, ..
    } = pull;
    let kind = if pull.is_draft {
        "Draft pull request"
    } else {
        "Pull request"
    };
    let state = match () {
        () if pull.is_merged => "merged",
        () if item.is_open => "open",
        () => "closed",
    };
    let mut page = format!(
        "{kind} #{number}: {title} ({state})\n{name}: {head} at {sha} for {base}, by {user}\n\n{body}\n",
        name = repository.name,
        sha = short(sha),
    );
    for check in repository
        .checks
        .iter()
        .filter(|check| check["head_sha"].as_str() == Some(sha))
    {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let (name, conclusion) = (text(&check["name"]), text(&check["conclusion"]));
        let _ = write!(
            page,
            "\n── check {name}: {conclusion}\n\n{}\n",
            text(&check["output"]["summary"])
        );
    }
    for review in &pull.reviews {
        let (at, by) = (short(&review.commit), &review.user);
        let _ = write!(
            page,
            "\n── review of {at} by {by} ({})\n\n{}\n",
            review.event, review.body
        );
    }
    for thread in &pull.threads {
        let resolved = if thread.is_resolved {
            " (resolved)"
        } else {
            ""
        };
        let _ = write!(
            page,
            "\n── {}:{} by {}{resolved}\n\n{}\n",
            thread.path, thread.line, thread.user, thread.body
        );
    }
    for comment in &item.comments {
        let _ = write!(
            page,
            "\n── comment by {}\n\n{}\n",
            comment.user, comment.body
        );
    }
    let _ = write!(
        page,
        "\n── changes\n\n{}",
        diff::unified(&repository.path, base, sha)
    );
    page
}

fn short(sha: &str) -> &str {
    sha.get(..SHORT).unwrap_or(sha)
}
