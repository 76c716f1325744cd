//! Pull requests and comparisons.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    answer::Answer,
    auth::Caller,
    diff,
    git::try_git,
    render::{self, head_of},
    request::{Request, page, repository_mut},
    state::{FakeItem, FakePull, FakeRepository, HostState},
};

/// Maximum number of files listed in a comparison.
const COMPARED: usize = 300;
/// Files above which a pull request has no diff.
const DIFF_FILES: usize = 300;
/// Lines above which a pull request has no diff.
const DIFF_LINES: usize = 20_000;

/// Follows the open pull requests' branches.
pub(super) fn refresh(state: &mut HostState, name: &str) {
    let repository = repository_mut(state, name);
    let heads: Vec<_> = repository
        .pulls()
        .map(|(item, pull)| (item.number, pull.head.clone()))
        .collect();
    for (number, branch) in heads {
        let Some(sha) = head_of(repository, &branch) else {
            continue;
        };
        let Some(item) = repository
            .items
            .get_mut(&number)
            .filter(|item| item.is_open)
        else {
            continue;
        };
        point_at(&repository.path, number, &sha);
        if let Some(pull) = &mut item.pull {
            pull.sha = sha;
        }
    }
}

/// Lets git fetch a pull request's head.
fn point_at(path: &Path, number: u64, sha: &str) {
    try_git(
        path,
        &["update-ref", &format!("refs/pull/{number}/head"), sha],
    );
}

/// Finds a pull request.
pub(super) fn find<'a>(
    repository: &'a FakeRepository,
    number: &str,
) -> Option<(&'a FakeItem, &'a FakePull)> {
    let item = repository.items.get(&number.parse().ok()?)?;
    Some((item, item.pull.as_ref()?))
}

pub(super) fn list(state: &mut HostState, name: &str, request: &Request) -> Answer {
    refresh(state, name);
    let repository = repository_mut(state, name);
    let owner = name.split('/').next().unwrap();
    let wanted = request.parameter("state").unwrap_or_else(|| "open".into());
    let head = request.parameter("head");
    let is_listed = |item: &FakeItem, pull: &FakePull| {
        (wanted == "all" || (wanted == "open") == item.is_open)
            && head
                .as_ref()
                .is_none_or(|head| pull.fork.is_none() && *head == format!("{owner}:{}", pull.head))
    };
    let mut found: Vec<Value> = repository
        .pulls()
        .filter(|(item, pull)| is_listed(item, pull))
        .map(|(item, pull)| render::pull(repository, item, pull))
        .collect();
    found.reverse();
    Answer::ok(&page(&found, request))
}

pub(super) fn get(state: &mut HostState, name: &str, number: &str, request: &Request) -> Answer {
    refresh(state, name);
    let repository = repository_mut(state, name);
    let Some((item, pull)) = find(repository, number) else {
        return Answer::not_found();
    };
    if request.header("accept").contains(".diff") {
        return unified(repository, pull);
    }
    Answer::ok(&render::pull(repository, item, pull))
}

fn unified(repository: &FakeRepository, pull: &FakePull) -> Answer {
    let diff = diff::unified(&repository.path, &pull.base, &pull.sha);
    let files = diff
        .lines()
        .filter(|line| line.starts_with("diff --git "))
        .count();
    let (unit, max) = match () {
        () if files > DIFF_FILES => ("files", DIFF_FILES),
        () if diff.lines().count() > DIFF_LINES => ("lines", DIFF_LINES),
        () => return Answer::text(200, diff.into_bytes()),
    };
    let message = format!(
        "Sorry, the diff exceeded the maximum number of {unit} ({max}). Consider using 'List pull requests files' API \
         or locally cloning the repository instead."
    );
    let errors = json!([{ "resource": "PullRequest", "field": "diff", "code": "too_large" }]);
    Answer::json(406, &json!({ "message": message, "errors": errors }))
}

pub(super) fn open(state: &mut HostState, name: &str, caller: &Caller, body: &Value) -> Answer {
    let repository = repository_mut(state, name);
    let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
    let (head, base) = (text("head"), text("base"));
    let head = head.rsplit(':').next().unwrap_or_default().to_owned();
    let (Some(sha), Some(of_base)) = (head_of(repository, &head), head_of(repository, &base))
    else {
        let errors = json!([{ "resource": "PullRequest", "field": "head", "code": "invalid" }]);
        return Answer::json(
            422,
            &json!({ "message": "Validation Failed", "errors": errors }),
        );
    };
    if sha == of_base {
        return Answer::invalid(&format!("No commits between {base} and {head}"));
    }
    let is_same =
        |item: &FakeItem, pull: &FakePull| item.is_open && pull.head == head && pull.base == base;
    if repository.pulls().any(|(item, pull)| is_same(item, pull)) {
        return Answer::invalid(&format!("A pull request already exists for {head}."));
    }
    if repository.has_no_drafts && body["draft"] == true {
        return Answer::invalid("Draft pull requests are not supported in this repository.");
    }
    let number = repository.next_number();
    let pull = FakePull {
        head,
        sha,
        base,
        is_draft: body["draft"] == true,
        ..FakePull::default()
    };
    let item = FakeItem {
        number,
        title: text("title"),
        body: text("body"),
        user: caller.login(),
        is_open: true,
        pull: Some(pull),
        ..FakeItem::default()
    };
    repository.items.insert(number, item);
    let (item, pull) = find(repository, &number.to_string()).unwrap();
    Answer::json(201, &render::pull(repository, item, pull))
}

pub(super) fn change(state: &mut HostState, name: &str, number: &str, body: &Value) -> Answer {
    if find(repository_mut(state, name), number).is_none() {
        return Answer::not_found();
    }
    super::issues::apply(state, name, number, body);
    let repository = repository_mut(state, name);
    let (item, pull) = find(repository, number).unwrap();
    Answer::ok(&render::pull(repository, item, pull))
}

pub(super) fn files(repository: &FakeRepository, number: &str, request: &Request) -> Answer {
    let Some((_, pull)) = find(repository, number) else {
        return Answer::not_found();
    };
    let files = diff::files(&repository.path, &pull.base, &pull.sha);
    let files: Vec<Value> = files.iter().take(3_000).map(diff::File::to_json).collect();
    Answer::ok(&page(&files, request))
}

pub(super) fn compare(repository: &FakeRepository, range: &str) -> Answer {
    let Some((base, head)) = range.split_once("...") else {
        return Answer::not_found();
    };
    let path = &repository.path;
    let Some(merge_base) = try_git(path, &["merge-base", base, head]) else {
        return Answer::not_found();
    };
    let count = |from: &str, to: &str| -> u64 {
        let range = format!("{from}..{to}");
        try_git(path, &["rev-list", "--count", &range])
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(0)
    };
    let files = diff::files(path, base, head);
    let files: Vec<Value> = files
        .iter()
        .take(COMPARED)
        .map(diff::File::to_json)
        .collect();
    Answer::ok(&json!({
        "ahead_by": count(base, head), "behind_by": count(head, base), "total_commits": count(base, head),
        "merge_base_commit": { "sha": merge_base.trim() }, "commits": [], "files": files, "status": "diverged",
    }))
}
