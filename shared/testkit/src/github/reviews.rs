//! Reviews and their comments on lines.

use serde_json::Value;

use super::{
    answer::Answer,
    auth::Caller,
    diff,
    git::try_git,
    pulls::{find, refresh},
    render,
    request::{Request, of, page},
    state::{FakeRepository, FakeReview, FakeThread, HostState},
};

/// Maximum characters of a body.
pub(super) const MAX_BODY: usize = 65_536;

pub(super) fn list(repository: &FakeRepository, number: &str, request: &Request) -> Answer {
    let Some((item, pull)) = find(repository, number) else { return Answer::not_found() };
    let reviews: Vec<Value> =
        pull.reviews.iter().map(|review| render::review(repository, item.number, review)).collect();
    Answer::ok(&page(&reviews, request))
}

pub(super) fn create(
    state: &mut HostState,
    name: &str,
    number: &str,
    caller: &Caller,
    body: &Value,
) -> Answer {
    refresh(state, name);
    let Some((_, pull)) = find(of(state, name), number) else { return Answer::not_found() };
    let pull = pull.clone();
    let path = of(state, name).path.clone();
    let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
    let commit = text("commit_id");
    let is_of_pull = try_git(&path, &["merge-base", "--is-ancestor", &commit, &pull.sha]).is_some();
    if !commit.is_empty() && !is_of_pull {
        return Answer::invalid("The commit_id is not part of the pull request");
    }
    if text("body").chars().count() > MAX_BODY {
        return Answer::invalid("body is too long (maximum is 65536 characters)");
    }
    let files = diff::files(&path, &pull.base, &pull.sha);
    let comments = body["comments"].as_array().cloned().unwrap_or_default();
    for comment in &comments {
        let (line, side) =
            (comment["line"].as_u64().unwrap_or(0), comment["side"].as_str().unwrap_or("RIGHT"));
        let file = files.iter().find(|file| Some(file.path.as_str()) == comment["path"].as_str());
        let is_shown = |line| file.is_some_and(|file| file.shows(line, side));
        if !is_shown(line) || comment["start_line"].as_u64().is_some_and(|start| !is_shown(start)) {
            return Answer::error(422, "Unprocessable Entity: \"Line could not be resolved\"");
        }
    }
    let login = caller.login();
    let event = text("event");
    let review = FakeReview { id: state.id(), user: login.clone(), body: text("body"), event, commit };
    let threads: Vec<FakeThread> = comments
        .iter()
        .map(|comment| FakeThread {
            id: format!("PRRT_{}", state.id()),
            user: login.clone(),
            path: comment["path"].as_str().unwrap_or_default().to_owned(),
            line: comment["line"].as_u64().unwrap_or(0),
            body: comment["body"].as_str().unwrap_or_default().to_owned(),
            is_resolved: false,
        })
        .collect();
    let repository = of(state, name);
    let shown = render::review(repository, number.parse().unwrap(), &review);
    let item = repository.items.get_mut(&number.parse().unwrap()).unwrap();
    let pull = item.pull.as_mut().unwrap();
    pull.reviews.push(review);
    pull.threads.extend(threads);
    Answer::ok(&shown)
}
