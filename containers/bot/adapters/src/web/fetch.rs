//! A single fetch: the request and redirects, each checked.
//!
//! Not here: reading the body (`body`), timeout and cancellation (`client`).

use ars_bot_ports::{FetchLimits, Fetched, WebError};
use reqwest::{
    Response, StatusCode,
    header::{ACCEPT, ACCEPT_ENCODING, HeaderValue, LOCATION},
};

use super::{body, failure::failure, pages::Pages, policy::Reach, target};

/// Maximum redirects in a fetch.
const MAX_REDIRECTS: usize = 5;
/// Prefers text: sites with several forms then send the readable form.
const ACCEPTED: HeaderValue =
    HeaderValue::from_static("text/html, text/markdown, text/plain, application/json, */*;q=0.5");

/// Fetches a URL and follows redirects, within the run's hosts.
pub(super) async fn fetch(
    pages: &Pages,
    reach: &Reach,
    url: &str,
    limits: FetchLimits,
) -> Result<Fetched, WebError> {
    let guard = &pages.guard;
    let mut url = target::parse(url, guard)?;
    reach.check(&url)?;
    for redirects in 0..=MAX_REDIRECTS {
        let client = pages
            .client_for(&url)
            .await
            .map_err(|error| of_redirect(redirects, error))?;
        let request = client.get(url.clone()).header(ACCEPT, ACCEPTED);
        let request = request.header(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        let response = request
            .send()
            .await
            .map_err(|error| of_redirect(redirects, failure(&error)))?;
        match location(&response) {
            None => return body::answer(response, limits).await,
            Some(location) => {
                url = target::follow(&url, &location, guard)?;
                reach
                    .check(&url)
                    .map_err(|error| WebError::Redirect(Box::new(error)))?;
            }
        }
    }
    Err(WebError::Redirects(MAX_REDIRECTS))
}

/// Marks that a refused target came from a page.
fn of_redirect(redirects: usize, error: WebError) -> WebError {
    match error {
        WebError::Forbidden if redirects > 0 => WebError::Redirect(Box::new(WebError::Forbidden)),
        error => error,
    }
}

/// Returns a redirect's target, if the response is a redirect.
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
