//! `ars watch <url>`: follows a run from the URL of its page until it ends.

use std::process::ExitCode;

use super::{
    Failure,
    follow::{Stream, follow},
};
use crate::{
    args::Watch,
    environment::{self, name},
};

/// Prints each step, then the answer.
pub async fn run(args: Watch) -> Result<ExitCode, Failure> {
    let url = events_url(&args.url).ok_or_else(|| {
        Failure::InvalidInput("the URL must be that of a run's page: …/runs/<id>?t=<token>".into())
    })?;
    let client = reqwest::Client::new();
    let token = environment::variable(name::TOKEN);
    let request = || match &token {
        Some(token) => client.get(&url).bearer_auth(token),
        None => client.get(&url),
    };
    follow(&Stream { request: &request }).await
}

/// Returns the URL of a page's event stream: `/events` is appended to the path, the query stays.
fn events_url(page: &str) -> Option<String> {
    let (path, query) = page.split_once('?').unwrap_or((page, ""));
    let (_, id) = path.rsplit_once("/runs/")?;
    if id.is_empty() || id.contains('/') {
        return None;
    }
    Some(if query.is_empty() { format!("{path}/events") } else { format!("{path}/events?{query}") })
}

#[cfg(test)]
mod tests {
    use super::events_url;

    #[test]
    fn the_stream_stands_beside_the_page() {
        assert_eq!(events_url("http://h/runs/a?t=x").as_deref(), Some("http://h/runs/a/events?t=x"));
        assert_eq!(events_url("http://h/runs/a").as_deref(), Some("http://h/runs/a/events"));
        for other in ["http://h/", "http://h/runs/", "http://h/runs/a/b"] {
            assert_eq!(events_url(other), None, "{other}");
        }
    }
}
