//! Checks a URL's scheme, credentials, host name and literal address, in that order.
//!
//! The URL parser has already normalised decimal, octal, hexadecimal and percent-encoded address
//! spellings. Not here: a name's addresses (`resolver`).

use std::net::IpAddr;

use ars_bot_ports::WebError;
use reqwest::Url;

use super::resolver::Guard;

/// Names for this machine or its network, alone or as the last labels in a longer name.
const LOCAL_NAMES: [&str; 5] = ["localhost", "localdomain", "local", "internal", "home.arpa"];

/// Checks a URL's text.
pub(super) fn parse(text: &str, guard: &Guard) -> Result<Url, WebError> {
    check(Url::parse(text.trim()).map_err(|_| WebError::Url)?, guard)
}

/// Checks a redirect's target, relative to the page.
pub(super) fn follow(from: &Url, location: &str, guard: &Guard) -> Result<Url, WebError> {
    let url = from.join(location).map_err(|_| WebError::Url);
    url.and_then(|url| check(url, guard))
        .map_err(|error| WebError::Redirect(Box::new(error)))
}

fn check(url: Url, guard: &Guard) -> Result<Url, WebError> {
    let plain = matches!(url.scheme(), "http" | "https")
        && url.username().is_empty()
        && url.password().is_none();
    let Some(host) = url.host_str().filter(|_| plain) else {
        return Err(WebError::Url);
    };
    let literal = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    let allowed = match literal {
        Ok(address) => guard.admits(address),
        Err(_) => !is_local_name(host),
    };
    if allowed {
        Ok(url)
    } else {
        Err(WebError::Forbidden)
    }
}

/// Returns whether a name is local. The parser lower-cased it; a trailing dot names the same host.
pub(crate) fn is_local_name(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    LOCAL_NAMES.into_iter().any(|name| {
        host.strip_suffix(name)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str) -> Result<String, WebError> {
        parse(text, &Guard::default()).map(String::from)
    }

    #[test]
    fn only_absolute_http_urls_without_credentials_are_urls() {
        for text in "|example.com|/x|ftp://example.com|file:///etc/passwd|gopher://example.com|\
            data:text/plain,x|javascript:1|http://|http://u@example.com|http://u:p@example.com|\
            http://:p@example.com|http://exa mple.com|http://1.2.3.4.5|http://[::1"
            .split('|')
        {
            assert_eq!(judged(text), Err(WebError::Url), "{text}");
        }
        assert_eq!(
            judged(" HTTP://Example.COM/a?b#c "),
            Ok("http://example.com/a?b#c".into())
        );
        assert_eq!(
            judged("https://8.8.8.8:8443/"),
            Ok("https://8.8.8.8:8443/".into())
        );
    }

    #[test]
    fn local_names_are_rejected_in_every_spelling() {
        for host in
            "localhost LOCALHOST. a.localhost printer.local metadata.google.internal internal \
            x.internal. localhost.localdomain nas.home.arpa ｌｏｃａｌｈｏｓｔ local%68ost"
                .split(' ')
        {
            assert_eq!(
                judged(&format!("http://{host}:8080/")),
                Err(WebError::Forbidden),
                "{host}"
            );
        }
        for host in [
            "notlocalhost",
            "local.example",
            "mylocal",
            "internal.example.com",
            "arpa",
        ] {
            assert!(judged(&format!("http://{host}/")).is_ok(), "{host}");
        }
    }

    #[test]
    fn literal_addresses_are_rejected_in_every_spelling() {
        for host in "127.0.0.1 127.0.0.1. 127.1 2130706433 0x7f000001 0x7f.1 017700000001 0177.0.0.1 0 \
            0.0.0.0 １２７.0.0.1 127%2e0.0.1 169.254.169.254 0xa9fea9fe 2852039166 10.0.0.1 100.100.100.200 \
            255.255.255.255 [::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [::7f00:1] \
            [0:0:0:0:0:ffff:a9fe:a9fe] [64:ff9b::a9fe:a9fe] [2002:7f00:1::] [fd00:ec2::254] [fe80::1] \
            [ff02::1]"
            .split(' ')
        {
            assert_eq!(judged(&format!("http://{host}/")), Err(WebError::Forbidden), "{host}");
        }
        for host in [
            "8.8.8.8",
            "134744072",
            "[2606:4700:4700::1111]",
            "[::ffff:8.8.8.8]",
        ] {
            assert!(judged(&format!("http://{host}/")).is_ok(), "{host}");
        }
    }

    #[test]
    fn redirect_is_resolved_and_checked() {
        let from = Url::parse("https://example.com/a/b").unwrap();
        let led = |location| follow(&from, location, &Guard::default()).map(String::from);
        assert_eq!(led("../c?d"), Ok("https://example.com/c?d".into()));
        assert_eq!(
            led("//other.example/x"),
            Ok("https://other.example/x".into())
        );
        for (location, error) in [
            ("//169.254.169.254/latest", WebError::Forbidden),
            ("http://localhost/", WebError::Forbidden),
            ("file:///etc/passwd", WebError::Url),
            ("https://u:p@example.com/", WebError::Url),
        ] {
            assert_eq!(
                led(location),
                Err(WebError::Redirect(Box::new(error))),
                "{location}"
            );
        }
    }
}
