//! Responses in place of the bot when it did not respond.

use ars_container::{Answer, failure::is_unreachable, lifecycle::RETRY_AFTER_S};
use ars_wire::{ErrorCode, ingress::ErrorBody};

/// Returns 503 for a bot that cannot take the request now, with `Retry-After` in seconds.
pub fn unavailable(retry_after: u32) -> Answer {
    let body = ErrorBody {
        error: "unavailable".to_owned(),
        code: Some(ErrorCode::Unavailable),
        detail: Some("the bot is not running or is starting; try again".to_owned()),
    };
    Answer::json(ErrorCode::Unavailable.http_status(), &body)
        .with_header("retry-after", retry_after.to_string())
}

/// Returns the response to a request after the connection failed.
///
/// 503 invites a retry, so it is used only when the bot never saw the request. Otherwise the bot
/// may have acted on it and the response is 502.
pub fn connection_lost(message: &str) -> Answer {
    if is_unreachable(message) {
        return unavailable(RETRY_AFTER_S);
    }
    let body = ErrorBody {
        error: "the connection to the bot was lost".to_owned(),
        code: Some(ErrorCode::Unavailable),
        detail: Some("the bot may or may not have processed the request".to_owned()),
    };
    Answer::json(502, &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unavailable_bot_answers_503_with_retry_after() {
        let answer = unavailable(7);
        assert_eq!(
            (answer.status, answer.header),
            (503, Some(("retry-after", "7".to_owned())))
        );
        assert!(
            answer.body.contains("\"code\":\"unavailable\""),
            "{}",
            answer.body
        );
    }

    #[test]
    fn only_undelivered_requests_invite_a_retry() {
        for message in [
            "connect(): Connection refused",
            "Container port not found. Make sure you exposed the port in your container definition.",
            "The container is not listening in the TCP address 10.0.0.1:8080",
        ] {
            assert_eq!(
                connection_lost(message),
                unavailable(RETRY_AFTER_S),
                "{message}"
            );
        }
        for message in [
            "Network connection lost.",
            "Durable Object reset because its code was updated.",
        ] {
            let lost = connection_lost(message);
            assert_eq!((lost.status, lost.header), (502, None), "{message}");
        }
    }
}
