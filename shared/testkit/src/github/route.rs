//! The fake's routes.

use axum::http::Method;
use serde_json::{Value, json};

use super::{
    answer::Answer,
    auth::{self, Caller},
    checks, graphql, issues, pulls, render,
    request::{Request, decoded, page},
    reviews,
    state::HostState,
};

/// Answers an API request.
pub(super) fn route(state: &mut HostState, app: &auth::App, request: &Request) -> Answer {
    let parts: Vec<String> = request
        .path
        .trim_matches('/')
        .split('/')
        .map(decoded)
        .collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let caller = match auth::caller(state, app, request) {
        Ok(caller) => caller,
        Err(answer) => return answer,
    };
    match (request.method.as_str(), parts.as_slice()) {
        ("GET", ["app"]) => auth::app(app, &caller),
        ("POST", ["app", "installations", id, "access_tokens"]) => {
            auth::mint(state, app, request, &caller, id)
        }
        ("GET", ["user"]) if caller == Caller::User => Answer::ok(&render::user(&caller.login())),
        ("GET", ["installation", "repositories"]) => {
            listed(state, request, &caller, Some("repositories"))
        }
        ("GET", ["user", "repos"]) => listed(state, request, &caller, None),
        ("POST", ["graphql"]) => graphql::answer(state, &caller, &request.json()),
        ("GET", ["search", "issues"]) => issues::search(state, request, &caller),
        ("GET", ["search", "code"]) => checks::search_code(state, request, &caller),
        (_, ["repositories", id, rest @ ..]) => match named(state, id) {
            Some(name) => of_repository(state, request, &caller, &name, rest),
            None => Answer::not_found(),
        },
        (_, ["repos", owner, name, rest @ ..]) => {
            let name = format!("{owner}/{name}").to_ascii_lowercase();
            of_repository(state, request, &caller, &name, rest)
        }
        _ => Answer::not_found(),
    }
}

fn named(state: &HostState, id: &str) -> Option<String> {
    state
        .repositories
        .values()
        .find(|one| one.id.to_string() == id)
        .map(|one| one.name.clone())
}

fn listed(state: &HostState, request: &Request, caller: &Caller, field: Option<&str>) -> Answer {
    let all: Vec<Value> = state
        .repositories
        .values()
        .filter(|one| caller.sees(&one.name))
        .map(render::repository)
        .collect();
    let page = page(&all, request);
    match field {
        Some(field) => Answer::ok(&json!({ "total_count": all.len(), field: page })),
        None => Answer::ok(&page),
    }
}

fn of_repository(
    state: &mut HostState,
    request: &Request,
    caller: &Caller,
    name: &str,
    rest: &[&str],
) -> Answer {
    if let Some(new) = state.renamed.get(name) {
        let id = state.repositories[new].id;
        let path = rest
            .iter()
            .map(|part| format!("/{part}"))
            .collect::<String>();
        let status = if request.method == Method::GET {
            301
        } else {
            307
        };
        let to = format!("/api/v3/repositories/{id}{path}");
        return Answer::error(status, "Moved Permanently").header("location", to);
    }
    let Some(found) = state
        .repositories
        .get(name)
        .filter(|_| caller.sees(name))
        .cloned()
    else {
        return Answer::not_found();
    };
    let is_write = request.method != Method::GET;
    if !caller.may(auth::permission(rest), is_write) {
        return Answer::error(403, "Resource not accessible by integration");
    }
    if is_write && *caller == Caller::User && auth::permission(rest) == "checks" {
        return Answer::error(403, "You must authenticate via a GitHub App.");
    }
    if is_write && found.is_archived {
        return Answer::error(403, "Repository was archived so is read-only.");
    }
    match (request.method.as_str(), rest) {
        ("GET", []) => Answer::ok(&render::repository(&found)),
        ("GET", ["git", "ref", "heads", branch @ ..]) => checks::branch(&found, &branch.join("/")),
        ("GET", ["git", "trees", name]) => checks::tree(&found, name),
        ("GET", ["contents", path @ ..]) => checks::contents(&found, request, &path.join("/")),
        ("GET", ["compare", range]) => pulls::compare(&found, range),
        ("GET", ["commits", sha, "check-runs"]) => checks::list(&found, request, sha),
        ("POST", ["check-runs"]) => checks::create(state, name, &request.json()),
        ("PATCH", ["check-runs", id]) => checks::change(state, name, id, &request.json()),
        ("GET", ["actions", "jobs", id, "logs"]) => checks::log(&found, id),
        ("GET", ["pulls"]) => pulls::list(state, name, request),
        ("POST", ["pulls"]) => pulls::open(state, name, caller, &request.json()),
        ("GET", ["pulls", number]) => pulls::get(state, name, number, request),
        ("PATCH", ["pulls", number]) => pulls::change(state, name, number, &request.json()),
        ("GET", ["pulls", number, "files"]) => pulls::files(&found, number, request),
        ("GET", ["pulls", number, "reviews"]) => reviews::list(&found, number, request),
        ("POST", ["pulls", number, "reviews"]) => {
            reviews::create(state, name, number, caller, &request.json())
        }
        ("GET", ["pulls", number, "comments"]) => reviews::comments(&found, number, request),
        ("POST", ["pulls", _, "comments", comment, "replies"]) => {
            reviews::reply(state, name, comment, caller, &request.json())
        }
        ("GET", ["issues"]) => issues::list(&found, request),
        ("POST", ["issues"]) => issues::create(state, name, caller, &request.json()),
        ("GET", ["issues", number]) => issues::get(&found, number),
        ("PATCH" | "POST", ["issues", "comments", id]) => {
            issues::change_comment(state, name, id, &request.json())
        }
        ("PATCH", ["issues", number]) => issues::change(state, name, number, &request.json()),
        ("GET", ["issues", number, "comments"]) => issues::comments(&found, number, request),
        ("POST", ["issues", number, "comments"]) => {
            issues::add_comment(state, name, number, caller, &request.json())
        }
        _ => Answer::not_found(),
    }
}
