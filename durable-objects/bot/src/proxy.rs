//! Requests that pass to the bot, and answers in the bot's place.

use std::cell::Cell;

use ars_container::Answer;
use ars_platform::{
    Upstream, drain_body, header_names, header_of, json, json_with, random_bytes, rebuilt,
    thrown_text,
};
use ars_proxy::{failure, headers};
use worker::{
    console_warn,
    web_sys::{Headers, Request, Response},
};

/// Maximum drained bytes of a rejected request's body: twice the largest body that the bot accepts.
/// It is discarded, so it needs no authentication.
const DRAIN_BYTES: usize = 2 * 1024 * 1024;
/// Timeout for a drain in milliseconds.
const DRAIN_MS: f64 = 3_000.0;
/// Maximum concurrent drains: a single object passes on every caller's requests.
const MAX_DRAINS: u32 = 32;

/// As the platform spells it in header names.
const CONNECTION: &str = "connection";

thread_local! {
    static DRAINS: Cell<u32> = const { Cell::new(0) };
}

/// Drains a request's body when the edge answers itself. Above the limit the caller receives the
/// response at once, and may lose it.
pub async fn drain_caller_body(request: &Request) {
    if DRAINS.get() >= MAX_DRAINS {
        return;
    }
    DRAINS.set(DRAINS.get() + 1);
    drain_body(request, DRAIN_BYTES, DRAIN_MS).await;
    DRAINS.set(DRAINS.get() - 1);
}

/// Passes a request to the bot, and the bot's answer back.
///
/// Streams pass unchanged, and a client that disconnects ends the request at the bot.
pub async fn pass(bot: &Upstream, request: &Request, url: &str) -> Response {
    let strip = |passed: &Request| {
        let headers = passed.headers();
        let names = header_names(&headers);
        for name in headers::stripped(names.lines(), connection(&headers, &names).as_deref()) {
            remove(&headers, name);
        }
        // The name is valid and the headers are the new request's own.
        let _ = headers.set("traceparent", &headers::traceparent(random_bytes()));
    };
    match bot.pass(request, url, strip).await {
        Ok(response) => returned(response),
        Err(thrown) => {
            let cause = thrown_text(&thrown);
            console_warn!("a request to the bot failed: {cause}");
            // The rest of the body cannot be drained: the runtime has it.
            connection_lost(&cause)
        }
    }
}

/// Returns the response to a request that failed on the way to the bot.
pub fn connection_lost(cause: &str) -> Response {
    response(&failure::connection_lost(cause))
}

/// Strips the headers that belong to the connection to the bot.
fn returned(response: Response) -> Response {
    let headers = response.headers();
    let names = header_names(&headers);
    let stripped =
        headers::stripped_of_answer(names.lines(), connection(&headers, &names).as_deref());
    if stripped.is_empty() {
        return response;
    }
    let returned = rebuilt(&response);
    for name in stripped {
        remove(&returned.headers(), name);
    }
    returned
}

/// Returns the `Connection` value, which few requests have: the names are read already.
fn connection(headers: &Headers, names: &str) -> Option<String> {
    names
        .lines()
        .any(|name| name == CONNECTION)
        .then(|| header_of(headers, CONNECTION))
        .flatten()
}

fn remove(headers: &Headers, name: &str) {
    // The name comes from the headers themselves, so it is valid.
    let _ = headers.delete(name);
}

/// Converts the edge's own answer to a response.
pub fn response(answer: &Answer) -> Response {
    match &answer.header {
        None => json(answer.status, &answer.body),
        Some((name, value)) => json_with(answer.status, &answer.body, name, value),
    }
}
