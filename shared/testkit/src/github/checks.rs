//! Check runs, logs, branches, trees and files.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{
    answer::Answer,
    auth::Caller,
    git::try_git,
    render::{self, TIME, head_of},
    request::{Request, page, repository_mut},
    state::{FakeRepository, HostState},
};

pub(super) fn list(repository: &FakeRepository, request: &Request, name: &str) -> Answer {
    let sha = try_git(&repository.path, &["rev-parse", name]).unwrap_or_default();
    let wanted = request.parameter("check_name");
    let is_listed = |run: &&Value| {
        let is_wanted = wanted.is_none() || run["name"].as_str() == wanted.as_deref();
        is_wanted && run["head_sha"].as_str() == Some(sha.trim())
    };
    let runs: Vec<Value> = repository
        .checks
        .iter()
        .rev()
        .filter(is_listed)
        .cloned()
        .collect();
    Answer::ok(&json!({ "total_count": runs.len(), "check_runs": page(&runs, request) }))
}

pub(super) fn create(state: &mut HostState, name: &str, body: &Value) -> Answer {
    let id = state.id();
    let repository = repository_mut(state, name);
    if body["name"].as_str().is_none() || body["head_sha"].as_str().is_none() {
        return Answer::invalid("name and head_sha are required");
    }
    if body["output"]["annotations"]
        .as_array()
        .is_some_and(|all| all.len() > 50)
    {
        return Answer::invalid("annotations are too many (maximum is 50)");
    }
    let mut run = body.clone();
    for (field, value) in [
        ("id", json!(id)),
        ("node_id", "CR_1".into()),
        (
            "html_url",
            format!("https://h.test/{name}/runs/{id}").into(),
        ),
        (
            "url",
            format!("https://h.test/api/v3/repos/{name}/check-runs/{id}").into(),
        ),
        (
            "app",
            json!({ "id": 1, "slug": "ars", "name": "ars", "node_id": "A_1" }),
        ),
        ("started_at", TIME.into()),
        ("completed_at", TIME.into()),
        ("pull_requests", json!([])),
    ] {
        run[field] = value;
    }
    repository.checks.push(run.clone());
    Answer::json(201, &run)
}

pub(super) fn change(state: &mut HostState, name: &str, id: &str, body: &Value) -> Answer {
    let runs = &mut repository_mut(state, name).checks;
    let Some(run) = runs
        .iter_mut()
        .find(|run| run["id"].as_u64() == id.parse().ok())
    else {
        return Answer::not_found();
    };
    for (field, value) in body.as_object().into_iter().flatten() {
        run[field] = value.clone();
    }
    Answer::ok(run)
}

/// Redirects to the log storage, which has another origin and no credential.
pub(super) fn log(repository: &FakeRepository, id: &str) -> Answer {
    match id.parse().ok().and_then(|id: u64| repository.logs.get(&id)) {
        Some(_) => {
            let to = format!("/storage/{}/{id}", repository.id);
            Answer::text(302, Vec::new()).header("location", to)
        }
        None => Answer::not_found(),
    }
}

pub(super) fn branch(repository: &FakeRepository, branch: &str) -> Answer {
    match head_of(repository, branch) {
        Some(sha) => Answer::ok(&json!({
            "ref": format!("refs/heads/{branch}"), "node_id": "REF_1", "url": "https://h.test/ref",
            "object": { "type": "commit", "sha": sha, "url": "https://h.test/commit" },
        })),
        None => Answer::not_found(),
    }
}

pub(super) fn tree(repository: &FakeRepository, name: &str) -> Answer {
    let Some(text) = try_git(&repository.path, &["ls-tree", "-r", "-t", "--long", name]) else {
        return Answer::not_found();
    };
    let entry = |line: &str| {
        let (head, path) = line.split_once('\t')?;
        let mut fields = head.split_ascii_whitespace();
        let (mode, kind, sha, size) = (
            fields.next()?,
            fields.next()?,
            fields.next()?,
            fields.next()?,
        );
        let mut json = json!({ "path": path, "mode": mode, "type": kind, "sha": sha, "url": "https://h.test/t" });
        if let Ok(size) = size.parse::<u64>() {
            json["size"] = size.into();
        }
        Some(json)
    };
    let entries: Vec<Value> = text.lines().filter_map(entry).collect();
    Answer::ok(
        &json!({ "sha": "0".repeat(40), "url": "https://h.test/t", "tree": entries, "truncated": false }),
    )
}

pub(super) fn contents(repository: &FakeRepository, request: &Request, path: &str) -> Answer {
    let name = request.parameter("ref").unwrap_or_else(|| "HEAD".into());
    let object = format!("{name}:{path}");
    match try_git(&repository.path, &["cat-file", "-t", &object])
        .as_deref()
        .map(str::trim)
    {
        Some("tree") => folder(repository, &name, path),
        Some("blob") => {
            let text =
                try_git(&repository.path, &["cat-file", "blob", &object]).unwrap_or_default();
            if request.header("accept").contains(".raw") {
                return Answer::text(200, text.into_bytes());
            }
            // The host leaves out a large file's content.
            let content = if text.len() > 1 << 20 {
                String::new()
            } else {
                STANDARD.encode(&text)
            };
            Answer::ok(&json!({
                "type": "file", "encoding": "base64", "size": text.len(), "name": path, "path": path,
                "content": content, "sha": "0".repeat(40), "url": "https://h.test/c", "git_url": null,
                "html_url": null, "download_url": null, "_links": { "self": "https://h.test/c" },
            }))
        }
        _ => Answer::not_found(),
    }
}

fn folder(repository: &FakeRepository, name: &str, path: &str) -> Answer {
    let at = format!("{name}:{path}");
    let text = try_git(&repository.path, &["ls-tree", &at]).unwrap_or_default();
    let prefix = if path.is_empty() {
        String::new()
    } else {
        format!("{path}/")
    };
    let entry = |line: &str| {
        let (head, name) = line.split_once('\t')?;
        let kind = if head.contains(" tree ") {
            "dir"
        } else {
            "file"
        };
        Some(json!({
            "type": kind, "size": 0, "name": name, "path": format!("{prefix}{name}"), "sha": "0".repeat(40),
            "url": "https://h.test/c",
        }))
    };
    Answer::ok(&text.lines().filter_map(entry).collect())
}

/// Searches the default branch in the repository that the query names.
pub(super) fn search_code(state: &HostState, request: &Request, caller: &Caller) -> Answer {
    let query = request.parameter("q").unwrap_or_default();
    let name = query
        .split(' ')
        .find_map(|word| word.strip_prefix("repo:"))
        .unwrap_or_default();
    let Some(repository) = state.repositories.get(name).filter(|_| caller.sees(name)) else {
        return Answer::invalid("The listed repositories cannot be searched.");
    };
    let words: Vec<&str> = query
        .split(' ')
        .filter(|word| !word.contains(':'))
        .collect();
    let pattern = words.join(" ");
    let found = try_git(
        &repository.path,
        &["grep", "-l", "-F", "-e", &pattern, "HEAD"],
    )
    .unwrap_or_default();
    let items: Vec<Value> = found
        .lines()
        .filter_map(|line| line.strip_prefix("HEAD:"))
        .map(|path| {
            json!({
                "name": path, "path": path, "sha": "0".repeat(40), "url": "https://h.test/c",
                "repository": render::repository(repository),
            })
        })
        .collect();
    Answer::ok(&json!({ "total_count": items.len(), "incomplete_results": false, "items": items }))
}
