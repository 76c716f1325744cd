//! One fetch: the request, and its redirects followed by hand so that each is checked.
//!
//! Not here: reading the body (`body`), the time limit and the stop (`client`). Implements bot supplement section 15,
//! "every redirect re-checked".

use ars_bot_ports::{FetchLimits, Fetched, WebError};
use reqwest::{
    Client, Response, StatusCode,
    header::{ACCEPT, ACCEPT_ENCODING, HeaderValue, LOCATION},
};

use super::{body, client::failure, resolver::Guard, target};

/// Most redirects of one fetch.
const MAX_REDIRECTS: usize = 5;
/// Text first: sites that can choose send the readable form.
const ACCEPTED: HeaderValue =
    HeaderValue::from_static("text/html, text/markdown, text/plain, application/json, */*;q=0.5");

/// Fetches a URL and what it redirects to.
pub(super) async fn fetch(
    client: &Client,
    guard: &Guard,
    url: &str,
    limits: FetchLimits,
) -> Result<Fetched, WebError> {
    let mut url = target::parse(url, guard)?;
    for redirects in 0..=MAX_REDIRECTS {
        let request = client.get(url.clone()).header(ACCEPT, ACCEPTED);
        let request = request.header(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        let response = request.send().await.map_err(|error| match failure(&error) {
            WebError::Forbidden if redirects > 0 => WebError::Redirect(Box::new(WebError::Forbidden)),
            error => error,
        })?;
        match location(&response) {
            None => return body::answer(response, limits).await,
            Some(location) => url = target::follow(&url, &location, guard)?,
        }
    }
    Err(WebError::Redirects(MAX_REDIRECTS))
}

/// Where the answer sends us, if it does.
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
