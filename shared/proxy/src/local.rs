//! The host check by an edge in front of a developer's bot: only names for this machine pass.
//!
//! Such a bot serves pages without authentication, and relies on the `Host` header against DNS
//! rebinding. Behind the edge every request has the bot's own name, so the edge makes the check.
//! Not here: an edge in front of a container, which passes the name on.

use std::net::Ipv4Addr;

use ars_auth::dashboard::by_loopback;
use ars_container::Answer;
use ars_wire::{ErrorCode, ingress::ErrorBody};

/// Refuses a request to an address that does not name this machine. The runtime builds the address
/// from the `Host` header.
pub fn refusal(url: &str) -> Option<Answer> {
    by_loopback(Ipv4Addr::LOCALHOST.into(), Some(url))
        .err()
        .map(|_| forbidden())
}

fn forbidden() -> Answer {
    let body = ErrorBody {
        error: "forbidden".to_owned(),
        code: Some(ErrorCode::Unauthorized),
        detail: Some(
            "an edge before a developer's bot is asked as localhost, 127.0.0.1 or [::1]".to_owned(),
        ),
    };
    Answer::json(ErrorCode::Unauthorized.http_status(), &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_pass() {
        for url in [
            "http://localhost/",
            "http://LOCALHOST:8080/runs?x=1",
            "http://127.0.0.1:1//other.example/x",
            "http://[::1]:80/",
        ] {
            assert_eq!(refusal(url), None, "{url}");
        }
        for url in [
            "http://evil.example/runs",
            "http://evil.example:8080/http://localhost/",
            "http://localhost.evil.example/",
            "http://localhost@evil.example/",
            "http://127.0.0.1.evil.example/",
            "http://10.0.0.7/",
            "http:///runs",
            "/runs",
        ] {
            let refused = refusal(url).unwrap_or_else(|| panic!("{url} was let in"));
            assert_eq!((refused.status, refused.header), (403, None));
            assert!(!refused.body.contains("evil"), "{}", refused.body);
        }
    }
}
