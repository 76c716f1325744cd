//! What a failure says, of a request or of the watch over a container, and what is answered for it (document 1 section
//! 4.6, resident supplement 13).
//!
//! The runtime tells of either in words alone, which are read here. Not here: what follows for the container
//! (`lifecycle`).

use ars_wire::ingress::ErrorBody;

use crate::{Answer, lifecycle::SOON_S};

/// 503 of a bot that cannot take the request now.
pub fn unavailable(retry_after: u32) -> Answer {
    let body = ErrorBody {
        error: "unavailable".to_owned(),
        code: Some("unavailable".to_owned()),
        detail: Some("the bot is not running or is starting; try again".to_owned()),
    };
    Answer::of(503, &body).with("retry-after", retry_after.to_string())
}

/// What the runtime says of a request that never reached the bot: nobody listens there, or nothing runs.
const NOT_SENT: [&str; 4] =
    ["connection refused", "container port not found", "is not listening", "not running"];

/// Whether the failure of a request says that nobody is there to take it. Any other, of one that was too slow too, says
/// nothing about that.
pub fn is_nobody_there(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    NOT_SENT.iter().any(|known| message.contains(known))
}

/// A request that failed on its way: 503 when the bot never saw it, 502 when it may have, so that nobody repeats in good
/// faith what was done already.
pub fn broke_off(message: &str) -> Answer {
    if is_nobody_there(message) {
        return unavailable(SOON_S);
    }
    let body = ErrorBody {
        error: "the bot broke off".to_owned(),
        code: Some("unavailable".to_owned()),
        detail: Some("whether it took the request is not known".to_owned()),
    };
    Answer::of(502, &body)
}

/// What the runtime and the platform say before the code with which a container ended, where they give it in words alone.
const ENDED_WITH: [&str; 2] =
    ["container exited with unexpected exit code:", "runtime signalled the container to exit:"];

/// The exit code that the failure of a watch tells of. Without one, nothing is known but that nobody watches any more.
pub fn exit_code(message: &str) -> Option<i32> {
    let message = message.to_ascii_lowercase();
    let code = ENDED_WITH.iter().find_map(|words| message.split_once(words))?.1.trim_start();
    code.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_name_an_exit_code_tell_of_an_end() {
        for (message, code) in [
            ("Container exited with unexpected exit code: 137", 137),
            ("runtime signalled the container to exit: 143.", 143),
            ("Error: Container exited with unexpected exit code: 0", 0),
        ] {
            assert_eq!(exit_code(message), Some(code), "{message}");
        }
        for message in [
            "Monitoring container failed with: 500 busy",
            "monitor() cannot be called on a container that is not running.",
            "Network connection lost.",
            "runtime signalled the container to exit: soon",
            "",
        ] {
            assert_eq!(exit_code(message), None, "{message}");
        }
    }

    #[test]
    fn a_bot_that_is_not_there_is_told_with_the_time_to_come_back() {
        let answer = unavailable(7);
        assert_eq!((answer.status, answer.header), (503, Some(("retry-after", "7".to_owned()))));
        assert!(answer.body.contains("\"code\":\"unavailable\""), "{}", answer.body);
    }

    #[test]
    fn a_request_that_may_have_reached_the_bot_is_not_offered_to_be_repeated() {
        for message in [
            "connect(): Connection refused",
            "Container port not found. Make sure you exposed the port in your container definition.",
            "The container is not listening in the TCP address 10.0.0.1:8080",
        ] {
            assert_eq!(broke_off(message), unavailable(SOON_S), "{message}");
        }
        for message in ["Network connection lost.", "Durable Object reset because its code was updated."] {
            let lost = broke_off(message);
            assert_eq!((lost.status, lost.header), (502, None), "{message}");
        }
    }
}
