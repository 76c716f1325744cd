//! Set-up failures, and converting the library's errors.

use std::error::Error;

use ars_bot_ports::WebError;

use crate::error::Unresolvable;

/// Converts a library failure. The text may contain addresses, so it is discarded.
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
