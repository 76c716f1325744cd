//! One fetch: the request and its redirects, each of which is checked.
//!
//! Not here: reading the body (`body`), timeout and cancellation (`client`).

use ars_bot_ports::{FetchLimits, Fetched, WebError};
use reqwest::{
    Client, Response, StatusCode,
    header::{ACCEPT, ACCEPT_ENCODING, HeaderValue, LOCATION},
};

use super::{body, failure::failure, policy::Reach, resolver::Guard, target};

/// Most redirects of one fetch.
const MAX_REDIRECTS: usize = 5;
/// Prefers text: sites with several forms then send the readable one.
const ACCEPTED: HeaderValue =
    HeaderValue::from_static("text/html, text/markdown, text/plain, application/json, */*;q=0.5");

/// Fetches a URL and follows its redirects, within the hosts of the run.
pub(super) async fn fetch(
    client: &Client,
    guard: &Guard,
    reach: &Reach,
    url: &str,
    limits: FetchLimits,
) -> Result<Fetched, WebError> {
    let mut url = target::parse(url, guard)?;
    reach.check(&url)?;
    for redirects in 0..=MAX_REDIRECTS {
        let request = client.get(url.clone()).header(ACCEPT, ACCEPTED);
        let request = request.header(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        let response = request.send().await.map_err(|error| match failure(&error) {
            WebError::Forbidden if redirects > 0 => WebError::Redirect(Box::new(WebError::Forbidden)),
            error => error,
        })?;
        match location(&response) {
            None => return body::answer(response, limits).await,
            Some(location) => {
                url = target::follow(&url, &location, guard)?;
                reach.check(&url).map_err(|error| WebError::Redirect(Box::new(error)))?;
            }
        }
    }
    Err(WebError::Redirects(MAX_REDIRECTS))
}

/// Returns the target of a redirect, if the response is one.
fn location(response: &Response) -> Option<String> {
    let redirects = matches!(
        response.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let value = response.headers().get(LOCATION).filter(|_| redirects)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}
