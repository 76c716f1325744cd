//! Issues and comments.

use serde_json::{Value, json};

use super::{
    answer::Answer,
    auth::Caller,
    render,
    request::{Request, page, repository_mut},
    reviews::MAX_BODY,
    state::{FakeComment, FakeItem, FakeRepository, HostState},
};

pub(super) fn list(repository: &FakeRepository, request: &Request) -> Answer {
    let wanted = request.parameter("state").unwrap_or_else(|| "open".into());
    let labels = request.parameter("labels").unwrap_or_default();
    let has_labels = |item: &FakeItem| {
        labels
            .split(',')
            .filter(|label| !label.is_empty())
            .all(|label| item.labels.iter().any(|one| one == label))
    };
    let found: Vec<Value> = repository
        .items
        .values()
        .rev()
        .filter(|item| (wanted == "all" || (wanted == "open") == item.is_open) && has_labels(item))
        .map(|item| render::issue(repository, item))
        .collect();
    Answer::ok(&page(&found, request))
}

pub(super) fn get(repository: &FakeRepository, number: &str) -> Answer {
    match number
        .parse()
        .ok()
        .and_then(|number: u64| repository.items.get(&number))
    {
        Some(item) => Answer::ok(&render::issue(repository, item)),
        None => Answer::not_found(),
    }
}

pub(super) fn create(state: &mut HostState, name: &str, caller: &Caller, body: &Value) -> Answer {
    let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
    if text("title").is_empty() {
        return Answer::invalid("title can't be blank");
    }
    let repository = repository_mut(state, name);
    let number = repository.next_number();
    let item = FakeItem {
        number,
        title: text("title"),
        body: text("body"),
        user: caller.login(),
        is_open: true,
        labels: words(&body["labels"]),
        ..FakeItem::default()
    };
    let shown = render::issue(repository, &item);
    repository.items.insert(number, item);
    Answer::json(201, &shown)
}

pub(super) fn change(state: &mut HostState, name: &str, number: &str, body: &Value) -> Answer {
    match apply(state, name, number, body) {
        Some(()) => get(repository_mut(state, name), number),
        None => Answer::not_found(),
    }
}

/// Changes an item's fields.
pub(super) fn apply(state: &mut HostState, name: &str, number: &str, body: &Value) -> Option<()> {
    let item = repository_mut(state, name)
        .items
        .get_mut(&number.parse().ok()?)?;
    if let Some(title) = body["title"].as_str() {
        item.title = title.to_owned();
    }
    if let Some(text) = body["body"].as_str() {
        item.body = text.to_owned();
    }
    if let Some(word) = body["state"].as_str() {
        item.is_open = word == "open";
    }
    if body["labels"].is_array() {
        item.labels = words(&body["labels"]);
    }
    Some(())
}

fn words(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

pub(super) fn comments(repository: &FakeRepository, number: &str, request: &Request) -> Answer {
    let Some(item) = number
        .parse()
        .ok()
        .and_then(|number: u64| repository.items.get(&number))
    else {
        return Answer::not_found();
    };
    let found: Vec<Value> = item
        .comments
        .iter()
        .map(|comment| render::comment(repository, comment))
        .collect();
    Answer::ok(&page(&found, request))
}

pub(super) fn add_comment(
    state: &mut HostState,
    name: &str,
    number: &str,
    caller: &Caller,
    body: &Value,
) -> Answer {
    let text = body["body"].as_str().unwrap_or_default().to_owned();
    if text.is_empty() || text.chars().count() > MAX_BODY {
        return Answer::invalid("body is too long (maximum is 65536 characters)");
    }
    let comment = FakeComment {
        id: state.id(),
        user: caller.login(),
        body: text,
        edits: 0,
    };
    let repository = repository_mut(state, name);
    let shown = render::comment(repository, &comment);
    let Some(item) = number
        .parse()
        .ok()
        .and_then(|number: u64| repository.items.get_mut(&number))
    else {
        return Answer::not_found();
    };
    item.comments.push(comment);
    Answer::json(201, &shown)
}

pub(super) fn change_comment(state: &mut HostState, name: &str, id: &str, body: &Value) -> Answer {
    let repository = repository_mut(state, name);
    let all = repository
        .items
        .values_mut()
        .flat_map(|item| &mut item.comments);
    let Some(found) = all.into_iter().find(|comment| comment.id.to_string() == id) else {
        return Answer::not_found();
    };
    found.body = body["body"].as_str().unwrap_or_default().to_owned();
    found.edits += 1;
    let found = found.clone();
    Answer::ok(&render::comment(repository, &found))
}

/// Searches the repository that the query names.
pub(super) fn search(state: &HostState, request: &Request, caller: &Caller) -> Answer {
    let query = request.parameter("q").unwrap_or_default();
    let name = query
        .split(' ')
        .find_map(|word| word.strip_prefix("repo:"))
        .unwrap_or_default();
    let Some(repository) = state.repositories.get(name).filter(|_| caller.sees(name)) else {
        return Answer::invalid("The listed repositories cannot be searched.");
    };
    let words: Vec<String> = query
        .split(' ')
        .filter(|word| !word.contains(':'))
        .map(str::to_lowercase)
        .collect();
    let is_hit = |item: &&FakeItem| {
        let text = format!("{} {}", item.title, item.body).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let items: Vec<Value> = repository
        .items
        .values()
        .filter(is_hit)
        .map(|item| render::issue(repository, item))
        .collect();
    Answer::ok(&json!({ "total_count": items.len(), "incomplete_results": false, "items": items }))
}
