//! Who may ask an edge that stands before a developer's bot: whoever names this machine (bot supplement section 8, mode
//! `none`; document 1 section 5).
//!
//! That bot shows its pages to whoever is at its machine, and trusts the `Host` header to tell a page of another site,
//! whose name was made to resolve to this machine, from one of its own. Behind the edge it sees the edge's requests alone,
//! all of them from here and in its own name: the question is the edge's then. Not here: an edge before a container, which
//! passes the name on.

use std::net::Ipv4Addr;

use ars_auth::dashboard::by_loopback;
use ars_container::Answer;
use ars_wire::{ErrorCode, ingress::ErrorBody};

/// The refusal of a request to this address, when that does not name this machine: the bot's own rule for the `Host`
/// header, out of which the runtime makes the address.
pub fn refusal(url: &str) -> Option<Answer> {
    by_loopback(Ipv4Addr::LOCALHOST.into(), Some(url)).err().map(|_| forbidden())
}

fn forbidden() -> Answer {
    let body = ErrorBody {
        error: "forbidden".to_owned(),
        code: Some(ErrorCode::Unauthorized),
        detail: Some("an edge before a developer's bot is asked as localhost, 127.0.0.1 or [::1]".to_owned()),
    };
    Answer::of(ErrorCode::Unauthorized.http_status(), &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_of_this_machine_are_answered_before_a_developers_bot() {
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
