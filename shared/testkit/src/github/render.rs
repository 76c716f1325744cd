//! The host's JSON.

use serde_json::{Value, json};

use super::{
    git::try_git,
    state::{FakeComment, FakeItem, FakePull, FakeRepository, FakeReview, FakeThread},
};

/// Time that every item has.
pub(super) const TIME: &str = "2026-01-02T03:04:05Z";
/// Base of all addresses in responses.
pub(super) const WEB: &str = "https://h.test";

pub(super) fn user(login: &str) -> Value {
    let url = |part: &str| format!("{WEB}/api/v3/users/{login}{part}");
    let is_bot = login.ends_with("[bot]");
    json!({
        "login": login, "id": login.len(), "node_id": "U_1", "avatar_url": format!("{WEB}/a.png"), "gravatar_id": "",
        "url": url(""), "html_url": format!("{WEB}/{}", login.trim_end_matches("[bot]")),
        "followers_url": url("/followers"), "following_url": url("/following"), "gists_url": url("/gists"),
        "starred_url": url("/starred"), "subscriptions_url": url("/subscriptions"),
        "organizations_url": url("/orgs"), "repos_url": url("/repos"), "events_url": url("/events"),
        "received_events_url": url("/received_events"), "type": if is_bot { "Bot" } else { "User" },
        "site_admin": false,
    })
}

pub(super) fn repository(repository: &FakeRepository) -> Value {
    let FakeRepository {
        id,
        name,
        is_archived,
        is_public,
        ..
    } = repository;
    let (owner, short) = name.split_once('/').unwrap();
    json!({
        "id": id, "node_id": "R_1", "name": short, "full_name": name, "owner": user(owner), "private": !is_public,
        "html_url": format!("{WEB}/{name}"), "description": "A fake.", "fork": false,
        "url": format!("{WEB}/api/v3/repos/{name}"), "default_branch": default_branch(repository), "archived": is_archived,
        "created_at": TIME, "updated_at": TIME, "pushed_at": TIME,
    })
}

pub(super) fn issue(repository: &FakeRepository, item: &FakeItem) -> Value {
    let name = &repository.name;
    let api = format!("{WEB}/api/v3/repos/{name}/issues/{}", item.number);
    let kind = if item.pull.is_some() {
        "pull"
    } else {
        "issues"
    };
    let html = format!("{WEB}/{name}/{kind}/{}", item.number);
    let mut json = json!({
        "id": item.number, "node_id": "I_1", "url": api, "repository_url": format!("{WEB}/api/v3/repos/{name}"),
        "labels_url": format!("{api}/labels"), "comments_url": format!("{api}/comments"),
        "events_url": format!("{api}/events"), "html_url": html, "number": item.number,
        "state": if item.is_open { "open" } else { "closed" }, "title": item.title, "body": item.body,
        "user": user(&item.user), "labels": item.labels.iter().map(|name| label(name)).collect::<Vec<_>>(),
        "assignees": [], "locked": false, "comments": item.comments.len(), "created_at": TIME, "updated_at": TIME,
        "closed_at": if item.is_open { Value::Null } else { TIME.into() }, "author_association": "MEMBER",
    });
    if item.pull.is_some() {
        let at = format!("{WEB}/api/v3/repos/{name}/pulls/{}", item.number);
        json["pull_request"] = json!({
            "url": at, "html_url": html, "diff_url": format!("{html}.diff"), "patch_url": format!("{html}.patch"),
        });
    }
    json
}

fn label(name: &str) -> Value {
    json!({
        "id": 1, "node_id": "L_1", "url": format!("{WEB}/labels"), "name": name, "color": "ededed", "default": false,
    })
}

pub(super) fn comment(repository: &FakeRepository, comment: &FakeComment) -> Value {
    let FakeComment {
        id,
        user: login,
        body,
        ..
    } = comment;
    let name = &repository.name;
    json!({
        "id": id, "node_id": "C_1", "url": format!("{WEB}/api/v3/repos/{name}/issues/comments/{id}"),
        "html_url": format!("{WEB}/{name}/issues/1#issuecomment-{id}"), "user": user(login), "body": body,
        "created_at": TIME, "updated_at": TIME, "author_association": "MEMBER",
        "issue_url": format!("{WEB}/api/v3/repos/{name}/issues/1"),
    })
}

pub(super) fn pull(repository_of: &FakeRepository, item: &FakeItem, pull: &FakePull) -> Value {
    let owner = repository_of.name.split('/').next().unwrap();
    let branch = |name: &str, sha: String| {
        json!({
            "label": format!("{owner}:{name}"), "ref": name, "sha": sha, "user": user(owner),
            "repo": repository(repository_of),
        })
    };
    let mut head = branch(&pull.head, pull.sha.clone());
    if let Some(fork) = &pull.fork {
        head["repo"]["full_name"] = fork.as_str().into();
        head["label"] = format!(
            "{}:{}",
            fork.split('/').next().unwrap_or_default(),
            pull.head
        )
        .into();
    }
    if pull.is_fork_deleted {
        head["repo"] = Value::Null;
    }
    let base = branch(
        &pull.base,
        head_of(repository_of, &pull.base).unwrap_or_default(),
    );
    let files = super::diff::files(&repository_of.path, &pull.base, &pull.sha);
    let numbers: Vec<Value> = files.iter().map(super::diff::File::to_json).collect();
    let sum = |field: &str| {
        numbers
            .iter()
            .filter_map(|file| file[field].as_u64())
            .sum::<u64>()
    };
    let mut json = issue(repository_of, item);
    json["url"] = json["pull_request"]["url"].take();
    if let Some(fields) = json.as_object_mut() {
        fields.remove("pull_request");
    }
    for (field, value) in [
        ("head", head),
        ("base", base),
        ("draft", pull.is_draft.into()),
        ("merged", pull.is_merged.into()),
        (
            "merged_at",
            if pull.is_merged {
                TIME.into()
            } else {
                Value::Null
            },
        ),
        ("changed_files", files.len().into()),
        ("additions", sum("additions").into()),
        ("deletions", sum("deletions").into()),
        ("requested_reviewers", json!([])),
    ] {
        json[field] = value;
    }
    json
}

pub(super) fn review(repository: &FakeRepository, number: u64, review: &FakeReview) -> Value {
    let FakeReview {
        id,
        user: login,
        body,
        event,
        commit,
    } = review;
    let html = format!("{WEB}/{}/pull/{number}", repository.name);
    let state = match event.as_str() {
        "APPROVE" => "APPROVED",
        "REQUEST_CHANGES" => "CHANGES_REQUESTED",
        _ => "COMMENTED",
    };
    json!({
        "id": id, "node_id": "PRR_1", "user": user(login), "body": body, "state": state, "commit_id": commit,
        "html_url": format!("{html}#pullrequestreview-{id}"), "pull_request_url": html, "submitted_at": TIME,
        "author_association": "MEMBER",
    })
}

/// Renders a comment on a line.
pub(super) fn line_comment(
    repository: &FakeRepository,
    number: u64,
    pull: &FakePull,
    thread: &FakeThread,
    comment: &FakeComment,
) -> Value {
    let name = &repository.name;
    let at = format!("{WEB}/api/v3/repos/{name}/pulls");
    let mut json = json!({
        "id": comment.id, "node_id": "PRRC_1", "url": format!("{at}/comments/{}", comment.id),
        "html_url": format!("{WEB}/{name}/pull/{number}#discussion_r{}", comment.id),
        "pull_request_url": format!("{at}/{number}"), "user": user(&comment.user), "body": comment.body,
        "path": thread.path, "line": if thread.is_outdated { Value::Null } else { thread.line.into() },
        "original_line": thread.line, "side": "RIGHT", "diff_hunk": "", "commit_id": pull.sha,
        "original_commit_id": pull.sha, "created_at": TIME, "updated_at": TIME, "author_association": "MEMBER",
    });
    if comment.id != thread.comment {
        json["in_reply_to_id"] = thread.comment.into();
    }
    json
}

/// Returns the branch that `HEAD` names.
fn default_branch(repository: &FakeRepository) -> String {
    let head = std::fs::read_to_string(repository.path.join("HEAD")).unwrap_or_default();
    head.trim()
        .strip_prefix("ref: refs/heads/")
        .unwrap_or("main")
        .to_owned()
}

/// Returns a branch's commit.
pub(super) fn head_of(repository: &FakeRepository, branch: &str) -> Option<String> {
    let name = format!("refs/heads/{branch}");
    try_git(
        &repository.path,
        &["rev-parse", "--verify", "--quiet", &name],
    )
    .map(|sha| sha.trim().to_owned())
}
