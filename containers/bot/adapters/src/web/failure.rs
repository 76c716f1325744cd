//! Failures of the set-up, and the conversion of the library's errors.

use std::error::Error;

use ars_bot_ports::WebError;

use super::resolver::Unresolvable;

/// A client that cannot be set up. Names the invalid setting, never its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The search key cannot be sent in a header.
    #[error("BRAVE_SEARCH_API_KEY must be printable ASCII on one line")]
    SearchKey,
    /// The search service's address is invalid.
    #[error("the search service's address must be an http or https URL")]
    SearchUrl,
    /// The HTTP library failed, for example without root certificates.
    #[error("the HTTP client for web pages cannot be set up")]
    Library,
}

/// Converts a failure of the library. Its text may contain addresses, so it is discarded.
pub(super) fn failure(error: &reqwest::Error) -> WebError {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        match error.downcast_ref::<Unresolvable>() {
            Some(Unresolvable::Forbidden) => return WebError::Forbidden,
            Some(Unresolvable::Unknown) => return WebError::Unresolved,
            None => cause = error.source(),
        }
    }
    WebError::Unreachable
}
