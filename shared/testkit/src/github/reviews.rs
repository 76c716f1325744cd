//! Reviews and their comments on lines.

use serde_json::Value;

use super::{
    answer::Answer,
    auth::Caller,
    diff,
    git::try_git,
    pulls::{find, refresh},
    render,
    request::{Request, page, repository_mut},
    state::{FakeComment, FakeRepository, FakeReview, FakeThread, HostState},
};

/// Maximum length of a body in characters.
pub(super) const MAX_BODY: usize = 65_536;

pub(super) fn list(repository: &FakeRepository, number: &str, request: &Request) -> Answer {
    let Some((item, pull)) = find(repository, number) else {
        return Answer::not_found();
    };
    let reviews: Vec<Value> = pull
        .reviews
        .iter()
        .map(|review| render::review(repository, item.number, review))
        .collect();
    Answer::ok(&page(&reviews, request))
}

/// Lists the line comments in all threads.
pub(super) fn comments(repository: &FakeRepository, number: &str, request: &Request) -> Answer {
    let Some((item, pull)) = find(repository, number) else {
        return Answer::not_found();
    };
    let of_thread = |thread: &FakeThread| -> Vec<Value> {
        let line = |comment| render::line_comment(repository, item.number, pull, thread, comment);
        thread.comments().iter().map(line).collect()
    };
    let comments: Vec<Value> = pull.threads.iter().flat_map(of_thread).collect();
    Answer::ok(&page(&comments, request))
}

/// Replies to a thread's first comment.
pub(super) fn reply(
    state: &mut HostState,
    name: &str,
    comment: &str,
    caller: &Caller,
    body: &Value,
) -> Answer {
    let text = body["body"].as_str().unwrap_or_default().to_owned();
    let reply = FakeComment {
        id: state.id(),
        user: caller.login(),
        body: text,
        edits: 0,
    };
    let repository = repository_mut(state, name);
    let found = repository.items.values_mut().find_map(|item| {
        let (number, pull) = (item.number, item.pull.as_mut()?);
        let thread = pull
            .threads
            .iter_mut()
            .find(|thread| thread.comment.to_string() == comment)?;
        thread.replies.push(reply.clone());
        let thread = thread.clone();
        Some((number, pull.clone(), thread))
    });
    match found {
        Some((number, pull, thread)) => Answer::json(
            201,
            &render::line_comment(repository, number, &pull, &thread, &reply),
        ),
        None => Answer::not_found(),
    }
}

/// Returns the response to a comment on a line outside the diff.
pub(super) fn rejected_anchor() -> Answer {
    Answer::error(422, "Unprocessable Entity: \"Line could not be resolved\"")
}

pub(super) fn create(
    state: &mut HostState,
    name: &str,
    number: &str,
    caller: &Caller,
    body: &Value,
) -> Answer {
    refresh(state, name);
    let Some((_, pull)) = find(repository_mut(state, name), number) else {
        return Answer::not_found();
    };
    let pull = pull.clone();
    let path = repository_mut(state, name).path.clone();
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
        let (line, side) = (
            comment["line"].as_u64().unwrap_or(0),
            comment["side"].as_str().unwrap_or("RIGHT"),
        );
        let file = files
            .iter()
            .find(|file| Some(file.path.as_str()) == comment["path"].as_str());
        let is_shown = |line| file.is_some_and(|file| file.shows(line, side));
        if !is_shown(line)
            || comment["start_line"]
                .as_u64()
                .is_some_and(|start| !is_shown(start))
        {
            return rejected_anchor();
        }
    }
    let login = caller.login();
    let event = text("event");
    let review = FakeReview {
        id: state.id(),
        user: login.clone(),
        body: text("body"),
        event,
        commit,
    };
    let threads: Vec<FakeThread> = comments
        .iter()
        .map(|comment| FakeThread {
            id: format!("PRRT_{}", state.id()),
            comment: state.id(),
            user: login.clone(),
            path: comment["path"].as_str().unwrap_or_default().to_owned(),
            line: comment["line"].as_u64().unwrap_or(0),
            body: comment["body"].as_str().unwrap_or_default().to_owned(),
            ..FakeThread::default()
        })
        .collect();
    let repository = repository_mut(state, name);
    let shown = render::review(repository, number.parse().unwrap(), &review);
    let item = repository.items.get_mut(&number.parse().unwrap()).unwrap();
    let pull = item.pull.as_mut().unwrap();
    pull.reviews.push(review);
    pull.threads.extend(threads);
    Answer::ok(&shown)
}
