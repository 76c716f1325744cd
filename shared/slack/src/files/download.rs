//! Which addresses may receive the bot token, and whether a download is the file.
//!
//! Addresses in messages are chosen by their authors, and a file may be hosted anywhere. The token goes to the API's
//! own origin and to Slack's hosts; a redirect is judged like a new address.

/// Slack's own domains. Files are below `files.slack.com`, workspaces below their own names.
const SLACK_DOMAINS: [&str; 2] = ["slack.com", "slack-gov.com"];
/// Media type of a page.
const HTML: &str = "text/html";
/// Starts of a page.
const PAGE_STARTS: [&str; 2] = ["<!doctype html", "<html"];
/// Bytes in which a page's start is looked for.
const HEAD_MAX_BYTES: usize = 512;
/// Port of HTTPS.
const HTTPS_PORT: u16 = 443;
/// Port of HTTP.
const HTTP_PORT: u16 = 80;

/// Returns whether a request to an address may carry the bot token.
///
/// `api_base` is the base of the Web API, which may be plain HTTP on this machine.
pub fn may_receive_token(url: &str, api_base: &str) -> bool {
    let Some(origin) = Origin::parse(url) else {
        return false;
    };
    let is_slack = SLACK_DOMAINS.iter().any(|domain| {
        let sub = origin.host.strip_suffix(domain);
        sub.is_some_and(|sub| sub.is_empty() || sub.ends_with('.'))
    });
    let is_slack = is_slack && origin.is_https && origin.port == HTTPS_PORT;
    is_slack || Origin::parse(api_base).is_some_and(|base| base == origin)
}

/// Returns whether a download is Slack's sign-in page in place of the file.
///
/// Slack sends it with status 200 if the token has no access.
///
/// `promised` is the file's media type, `received` that of the response.
pub fn is_sign_in_page(promised: &str, received: &str, body: &[u8]) -> bool {
    let is_html = |media_type: &str| {
        let start = media_type.trim_start().get(..HTML.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(HTML))
    };
    if is_html(promised) {
        return false;
    }
    let is_text = promised.trim_start().to_lowercase().starts_with("text/");
    is_html(received) || !is_text && starts_as_page(body)
}

fn starts_as_page(body: &[u8]) -> bool {
    let head = &body[..body.len().min(HEAD_MAX_BYTES)];
    let head = String::from_utf8_lossy(head).to_lowercase();
    let head = head.trim_start_matches('\u{feff}').trim_start();
    PAGE_STARTS.iter().any(|start| head.starts_with(start))
}

/// The origin of an address. Anything that two parsers could read differently is no address.
#[derive(PartialEq, Eq)]
struct Origin {
    is_https: bool,
    host: String,
    port: u16,
}

impl Origin {
    fn parse(url: &str) -> Option<Self> {
        let is_plain = |c: char| c.is_ascii_graphic() && c != '\\';
        if !url.chars().all(is_plain) {
            return None;
        }
        let (scheme, rest) = url.split_once("://")?;
        let is_https = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let authority = rest.split(['/', '?', '#']).next()?;
        let (host, port) = match authority.split_once(':') {
            Some((host, port)) => (host, port.parse().ok()?),
            None => (authority, if is_https { HTTPS_PORT } else { HTTP_PORT }),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        let is_host = !host.is_empty() && host.chars().all(is_name) && !host.ends_with('.');
        is_host.then(|| Self {
            is_https,
            host: host.to_ascii_lowercase(),
            port,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const API: &str = "https://slack.com/api";

    #[test]
    fn token_goes_to_slack_only() {
        for url in [
            "https://files.slack.com/files-pri/T1-F1/a.png",
            "https://slack.com/files-pri/T1-F1/a.png",
            "https://acme.slack.com/files/U1/F1/a.png",
            "https://acme.enterprise.slack.com:443/x",
            "HTTPS://FILES.SLACK.COM/x",
            "https://files.slack-gov.com/x",
        ] {
            assert!(may_receive_token(url, API), "{url}");
        }
        for url in [
            "",
            "files.slack.com/x",
            "http://files.slack.com/x",
            "https://files.slack.com:444/x",
            "https://files.slack.com.evil.example/x",
            "https://evilslack.com/x",
            "https://slack.com@evil.example/x",
            "https://evil.example/slack.com",
            "https://evil.example\\.slack.com/x",
            "https://evil.example#.slack.com/x",
            "https://evil.example?.slack.com/x",
            "https://evil.example%2f.slack.com/x",
            "https://files.slack.com./x",
            "https://[::1].slack.com/x",
            "https://files.slack.com\t/x",
            "https://slack-files.com/x",
            "https://a.slack-edge.com/x",
            "ftp://slack.com/x",
            "https://drive.example/x",
        ] {
            assert!(!may_receive_token(url, API), "{url}");
        }
    }

    #[test]
    fn token_goes_to_the_origin_of_the_api() {
        let base = "http://127.0.0.1:8080/api";
        for (url, may) in [
            ("http://127.0.0.1:8080/files/F1", true),
            ("http://127.0.0.1:8081/files/F1", false),
            ("https://127.0.0.1:8080/files/F1", false),
            ("http://127.0.0.1/files/F1", false),
            ("http://localhost:8080/files/F1", false),
            ("https://files.slack.com/x", true),
        ] {
            assert_eq!(may_receive_token(url, base), may, "{url}");
        }
        assert!(!may_receive_token("x", "x"));
    }

    #[test]
    fn page_in_place_of_a_file_is_a_sign_in_page() {
        let page = b"\xef\xbb\xbf\n<!DOCTYPE html><html>";
        for (promised, received, body, expected) in [
            ("image/png", "text/html; charset=utf-8", &b"x"[..], true),
            ("image/png", "Text/HTML", b"", true),
            ("image/png", "image/png", page, true),
            ("application/pdf", "", b"<HTML lang=en>", true),
            ("text/plain", "text/html", b"x", true),
            ("text/plain", "text/plain", page, false),
            ("text/html", "text/html", page, false),
            ("image/png", "image/png", b"\x89PNG\r\n", false),
            ("image/png", "", b"", false),
        ] {
            assert_eq!(
                is_sign_in_page(promised, received, body),
                expected,
                "{promised} {received}"
            );
        }
    }
}
