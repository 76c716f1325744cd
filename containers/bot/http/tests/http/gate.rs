//! Tests the dashboard's gate: modes, the sign-in form, and absent subsystems' routes.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use ars_auth::access::Proxy;
use ars_bot_core::settings::Settings;
use ars_bot_http::{Access, ConnectionLimits, Dashboard, StreamLimits};
use ars_bot_ports::{Certificates, WebError};
use async_trait::async_trait;
use reqwest::{Client, Method, Response, redirect::Policy};

use super::support::{Bot, TOKENS, by_token, public};

fn client() -> Client {
    Client::builder().redirect(Policy::none()).build().unwrap()
}

async fn get(bot: &Bot, path: &str, headers: &[(&str, &str)]) -> Response {
    let request = headers
        .iter()
        .fold(client().get(bot.url(path)), |r, (name, value)| {
            r.header(*name, *value)
        });
    request.send().await.unwrap()
}

async fn sign_in(bot: &Bot, form: &[(&str, &str)], headers: &[(&str, &str)]) -> Response {
    let body: String = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(form)
        .finish();
    let request = client().post(bot.url("/runs/sign-in")).body(body);
    headers
        .iter()
        .fold(request, |r, (name, value)| r.header(*name, *value))
        .send()
        .await
        .unwrap()
}

/// The command routes' refusal, in JSON.
const FORBIDDEN: &str = r#"{"error":"forbidden","code":"forbidden"}"#;

fn header<'r>(response: &'r Response, name: &str) -> &'r str {
    response
        .headers()
        .get(name)
        .map(|value| value.to_str().unwrap())
        .unwrap_or_default()
}

#[tokio::test]
async fn browser_without_credential_gets_the_form() {
    let bot = Bot::behind(by_token("access:ops"), TOKENS, public()).await;
    let page = get(&bot, "/runs?all=1", &[("accept", "text/html,*/*;q=0.8")]).await;
    assert_eq!(page.status(), 403);
    assert!(header(&page, "content-security-policy").contains("form-action 'self'"));
    assert_eq!(
        (
            header(&page, "cache-control"),
            header(&page, "x-frame-options")
        ),
        ("no-store", "DENY")
    );
    assert_eq!(header(&page, "referrer-policy"), "same-origin");
    let text = page.text().await.unwrap();
    assert!(
        text.contains("action=\"/runs/sign-in\"") && text.contains("value=\"/runs?all=1\""),
        "{text}"
    );
    for (path, accept, body) in [
        ("/runs", "*/*", "Forbidden\n"),
        ("/runs", "application/json", "Forbidden\n"),
        ("/api/runs.list", "text/html", FORBIDDEN),
    ] {
        let refused = get(&bot, path, &[("accept", accept)]).await;
        assert_eq!(
            (
                refused.status().as_u16(),
                refused.text().await.unwrap().as_str()
            ),
            (403, body)
        );
    }
    let styles = get(&bot, "/runs/sign-in/style.css", &[]).await;
    assert_eq!(
        (styles.status().as_u16(), header(&styles, "content-type")),
        (200, "text/css; charset=utf-8")
    );
    assert_eq!(get(&bot, "/runs/assets/style.css", &[]).await.status(), 403);
}

#[tokio::test]
async fn sign_in_exchanges_the_secret_for_a_cookie() {
    let bot = Bot::behind(by_token("access:ops"), TOKENS, public()).await;
    assert_eq!(get(&bot, "/runs/sign-in", &[]).await.status(), 200);
    let own = [("sec-fetch-site", "same-origin")];
    let signed_in = sign_in(&bot, &[("token", "look"), ("next", "/runs?all=1")], &own).await;
    assert_eq!(
        (signed_in.status().as_u16(), header(&signed_in, "location")),
        (303, "/runs?all=1")
    );
    let set = header(&signed_in, "set-cookie").to_owned();
    assert!(
        set.contains("HttpOnly; SameSite=Lax; Secure") && !set.contains("look"),
        "{set}"
    );
    let cookie = set.split(';').next().unwrap();

    assert_eq!(
        get(&bot, "/runs", &[("cookie", cookie)]).await.status(),
        200
    );
    assert_eq!(
        get(&bot, "/metrics", &[("cookie", cookie)]).await.status(),
        200
    );
    let both = [("cookie", cookie), ("authorization", "Bearer wrong")];
    assert_eq!(get(&bot, "/runs", &both).await.status(), 403);
    bot.clock.advance(12 * 3_600_000 + 1);
    assert_eq!(
        get(&bot, "/runs", &[("cookie", cookie)]).await.status(),
        403
    );
}

/// Also covers where the secret goes: it is in no address and no header that follows.
#[tokio::test]
async fn address_with_the_secret_opens_the_pages() {
    let bot = Bot::behind(by_token("access:ops"), TOKENS, Settings::default()).await;
    let by_address = async |token: &str, headers: &[(&str, &str)]| {
        get(
            &bot,
            &format!("/runs/sign-in?token={token}&next=%2Fruns%3Fall%3D1"),
            headers,
        )
        .await
    };
    let signed_in = by_address("look", &[("sec-fetch-site", "none")]).await;
    assert_eq!(
        (signed_in.status().as_u16(), header(&signed_in, "location")),
        (303, "/runs?all=1")
    );
    assert_eq!(header(&signed_in, "referrer-policy"), "no-referrer");
    assert_eq!(header(&signed_in, "cache-control"), "no-store");
    let set = header(&signed_in, "set-cookie").to_owned();
    assert!(
        set.contains("HttpOnly; SameSite=Lax") && !set.contains("look"),
        "{set}"
    );
    let cookie = set.split(';').next().unwrap();
    assert_eq!(
        get(&bot, "/runs?all=1", &[("cookie", cookie)])
            .await
            .status(),
        200
    );

    for (token, headers, said) in [
        ("loo", &[][..], "not valid any more"),
        ("", &[], "not valid any more"),
        (
            "look",
            &[("sec-fetch-site", "cross-site")],
            "name=\"token\"",
        ),
    ] {
        let refused = by_address(token, headers).await;
        assert_eq!(refused.status(), 403, "{token}");
        assert!(refused.headers().get("set-cookie").is_none());
        let text = refused.text().await.unwrap();
        assert!(text.contains(said) && !text.contains("look"), "{text}");
    }
}

#[tokio::test]
async fn wrong_secret_or_origin_opens_no_session() {
    let bot = Bot::behind(by_token("access:ops"), TOKENS, Settings::default()).await;
    let own = ("origin", &*bot.url(""));
    for (form, headers, status) in [
        (&[("token", "loo")][..], &[own][..], 403),
        (&[], &[own], 403),
        (&[("token", "look")], &[], 403),
        (
            &[("token", "look")],
            &[("origin", "https://evil.example.com")],
            403,
        ),
        (
            &[("token", "look")],
            &[own, ("sec-fetch-site", "cross-site")],
            403,
        ),
    ] {
        let answer = sign_in(&bot, form, headers).await;
        assert_eq!(answer.status(), status, "{form:?} {headers:?}");
        assert!(answer.headers().get("set-cookie").is_none());
    }
    let large = "x".repeat(20_000);
    assert_eq!(
        sign_in(&bot, &[("token", &large)], &[own]).await.status(),
        400
    );
    let elsewhere = sign_in(
        &bot,
        &[("token", "look"), ("next", "//evil.example.com")],
        &[own],
    )
    .await;
    assert_eq!(
        (elsewhere.status().as_u16(), header(&elsewhere, "location")),
        (303, "/runs")
    );
    // Without an https address a browser would drop a secure cookie.
    assert!(!header(&elsewhere, "set-cookie").contains("Secure"));
}

#[tokio::test]
async fn failed_sign_ins_are_limited() {
    let bot = Bot::behind(by_token("access:ops"), TOKENS, public()).await;
    let own = [("sec-fetch-site", "same-origin")];
    let mut answers = Vec::new();
    for _ in 0..11 {
        answers.push(
            sign_in(&bot, &[("token", "loo")], &own)
                .await
                .status()
                .as_u16(),
        );
    }
    assert_eq!((&answers[..10], answers[10]), (&[403; 10][..], 429));
    let refused = sign_in(&bot, &[("token", "look")], &own).await;
    assert_eq!(
        (refused.status().as_u16(), header(&refused, "retry-after")),
        (429, "60")
    );
    assert!(refused.headers().get("set-cookie").is_none());
    assert_eq!(
        get(&bot, "/runs", &[("authorization", "Bearer look")])
            .await
            .status(),
        200
    );
    bot.clock.advance(60_000);
    assert_eq!(
        sign_in(&bot, &[("token", "look")], &own).await.status(),
        303
    );
}

#[tokio::test]
async fn wrong_bearers_of_a_peer_are_limited() {
    let bot = Bot::behind(by_token("access:ops"), TOKENS, public()).await;
    let (right, wrong) = (
        [("authorization", "Bearer look")],
        [("authorization", "Bearer loo")],
    );
    for _ in 0..10 {
        assert_eq!(header(&get(&bot, "/runs", &wrong).await, "retry-after"), "");
    }
    for path in ["/runs", "/api/runs.list", "/metrics"] {
        let refused = get(&bot, path, &right).await;
        assert_eq!(
            (refused.status().as_u16(), header(&refused, "retry-after")),
            (403, "60"),
            "{path}"
        );
    }
    // A missing bearer is no attempt.
    assert_eq!(header(&get(&bot, "/runs", &[]).await, "retry-after"), "");
    bot.clock.advance(60_000);
    assert_eq!(get(&bot, "/runs", &right).await.status(), 200);
    for _ in 0..20 {
        assert_eq!(header(&get(&bot, "/runs", &wrong).await, "retry-after"), "");
    }
    assert_eq!(get(&bot, "/runs", &right).await.status(), 200);
}

/// Who holds a gate's token learns which gate it belongs to. Everyone else learns nothing.
#[tokio::test]
async fn token_of_another_gate_is_named() {
    let bot = Bot::behind(by_token("access:ops"), TOKENS, public()).await;
    let post = async |path: &str, token: &str| {
        let request = client()
            .post(bot.url(path))
            .bearer_auth(token)
            .header("content-type", "application/json");
        let answer = request.body("{}").send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let plain_rpc =
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"unauthorized"}}"#;
    for (path, token, status, part) in [
        ("/ingress", "look", 401, "dashboard"),
        ("/mcp", "look", 401, "dashboard"),
        ("/api/runs.list", "good", 403, "/ingress"),
    ] {
        let (answered, text) = post(path, token).await;
        assert!(
            answered == status && text.contains(part),
            "{path}: {answered} {text}"
        );
    }
    for (path, status, body) in [
        ("/ingress", 401, r#"{"error":"unauthorized"}"#),
        ("/mcp", 401, plain_rpc),
        ("/api/runs.list", 403, FORBIDDEN),
    ] {
        assert_eq!(
            post(path, "guess").await,
            (status, body.to_owned()),
            "{path}"
        );
    }
}

/// A caller with a gate's token has as many guesses at another gate's token as everyone else.
#[tokio::test]
async fn token_of_one_gate_gives_no_guesses_at_another() {
    for (own, token, other, wanted, part) in [
        ("/ingress", "good", "/ingress", "look", "dashboard"),
        ("/mcp", "good", "/mcp", "look", "dashboard"),
        (
            "/api/help.show",
            "look",
            "/api/help.show",
            "good",
            "/ingress",
        ),
    ] {
        let bot = Bot::behind(by_token("access:ops"), TOKENS, public()).await;
        let post = async |path: &str, token: &str| {
            let request = client()
                .post(bot.url(path))
                .bearer_auth(token)
                .header("content-type", "application/json");
            request
                .body("{}")
                .send()
                .await
                .unwrap()
                .text()
                .await
                .unwrap()
        };
        post(own, token).await;
        assert!(
            post(other, wanted).await.contains(part),
            "{other}: a hit is no guess"
        );
        for _ in 0..10 {
            post(other, "guess").await;
        }
        let limited = post(other, wanted).await;
        assert!(
            limited.contains("unauthorized") || limited.contains("forbidden"),
            "{other}: {limited}"
        );
        assert!(!limited.contains(part), "{other}: {limited}");
        bot.clock.advance(60_000);
        assert!(
            post(other, wanted).await.contains(part),
            "{other}: a minute later"
        );
    }
}

#[tokio::test]
async fn sign_out_removes_the_cookie() {
    let bot = Bot::behind(by_token("access:ops"), TOKENS, public()).await;
    let sign_out = |bot: &Bot, site: &str| {
        client()
            .post(bot.url("/runs/sign-out"))
            .header("sec-fetch-site", site)
            .send()
    };
    let signed_out = sign_out(&bot, "same-origin").await.unwrap();
    assert_eq!(
        (
            signed_out.status().as_u16(),
            header(&signed_out, "location")
        ),
        (303, "/runs/sign-in")
    );
    let cookie = header(&signed_out, "set-cookie");
    assert!(
        cookie.starts_with("ars_session=; Path=/; Max-Age=0;"),
        "{cookie}"
    );
    let page = get(&bot, "/runs", &[("authorization", "Bearer look")]).await;
    assert!(header(&page, "content-security-policy").contains("form-action 'self'"));
    assert!(
        page.text()
            .await
            .unwrap()
            .contains("action=\"/runs/sign-out\"")
    );
    let foreign = sign_out(&bot, "cross-site").await.unwrap();
    assert_eq!(foreign.status(), 403);
    assert!(foreign.headers().get("set-cookie").is_none());
    assert_eq!(get(&bot, "/runs/sign-out", &[]).await.status(), 405);
    let local = Bot::start().await;
    assert_eq!(sign_out(&local, "same-origin").await.unwrap().status(), 404);
    let page = get(&local, "/runs", &[]).await;
    assert!(header(&page, "content-security-policy").contains("form-action 'none'"));
    assert!(!page.text().await.unwrap().contains("sign-out"));
}

/// Over plain http a browser sends `Origin: null` with a form on a page that withholds its
/// referrer.
#[tokio::test]
async fn sign_out_without_origin_needs_a_session() {
    let bot = Bot::behind(by_token("access:ops"), TOKENS, public()).await;
    let signed_in = sign_in(
        &bot,
        &[("token", "look")],
        &[("sec-fetch-site", "same-origin")],
    )
    .await;
    let cookie = header(&signed_in, "set-cookie")
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    for (pairs, status) in [
        (&[("origin", "null"), ("cookie", &*cookie)][..], 303),
        (&[("origin", "null")], 403),
        (&[("cookie", &cookie)], 403),
        (
            &[("origin", "https://evil.example.com"), ("cookie", &cookie)],
            403,
        ),
        (
            &[
                ("origin", "null"),
                ("cookie", &cookie),
                ("sec-fetch-site", "same-site"),
            ],
            403,
        ),
    ] {
        let request = client().post(bot.url("/runs/sign-out"));
        let request = pairs.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        assert_eq!(request.send().await.unwrap().status(), status, "{pairs:?}");
    }
}

#[tokio::test]
async fn session_changes_nothing_for_other_origins() {
    let bot = Bot::behind(by_token("access:ops"), TOKENS, public()).await;
    let own = [("sec-fetch-site", "same-origin")];
    let signed_in = sign_in(&bot, &[("token", "look")], &own).await;
    let cookie = header(&signed_in, "set-cookie")
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    for (site, status) in [
        ("same-origin", 404),
        ("same-site", 403),
        ("cross-site", 403),
    ] {
        let request = client()
            .post(bot.url("/runs/none/stop?mode=soft"))
            .header("cookie", &cookie);
        assert_eq!(
            request
                .header("sec-fetch-site", site)
                .send()
                .await
                .unwrap()
                .status(),
            status,
            "{site}"
        );
    }
}

#[tokio::test]
async fn mode_none_refuses_writes_of_other_sites() {
    let bot = Bot::start().await;
    let stop = |headers: &[(&str, &str)]| {
        let request = client().post(bot.url("/runs/none/stop?mode=soft"));
        headers
            .iter()
            .fold(request, |request, (name, value)| {
                request.header(*name, *value)
            })
            .send()
    };
    for (headers, status) in [
        (&[][..], 404),
        (&[("sec-fetch-site", "same-origin")], 404),
        (&[("sec-fetch-site", "cross-site")], 403),
        (&[("origin", "https://evil.example")], 403),
    ] {
        assert_eq!(stop(headers).await.unwrap().status(), status, "{headers:?}");
    }
}

#[tokio::test]
async fn mode_none_refuses_forwarded_requests() {
    let bot = Bot::start().await;
    assert_eq!(get(&bot, "/runs", &[]).await.status(), 200);
    for name in [
        "forwarded",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-real-ip",
        "cf-connecting-ip",
        "via",
    ] {
        let refused = get(
            &bot,
            "/runs",
            &[(name, "127.0.0.1"), ("accept", "text/html")],
        )
        .await;
        assert_eq!(
            (
                refused.status().as_u16(),
                refused.text().await.unwrap().as_str()
            ),
            (403, "Forbidden\n")
        );
    }
    let limits = ConnectionLimits {
        peer_header: "x-peer".parse().ok(),
        ..ConnectionLimits::default()
    };
    let proxied = Bot::within(limits, StreamLimits::default()).await;
    assert_eq!(
        get(&proxied, "/runs", &[("x-peer", "192.0.2.1")])
            .await
            .status(),
        403
    );
    // Mode `none` has no secret, so it has no form.
    assert_eq!(get(&bot, "/runs/sign-in", &[]).await.status(), 404);
    assert_eq!(
        get(&bot, "/runs/sign-in", &[("via", "1.1 proxy")])
            .await
            .status(),
        403
    );
}

struct NoKeys;

#[async_trait]
impl Certificates for NoKeys {
    async fn fetch(&self) -> Result<String, WebError> {
        Err(WebError::Unreachable)
    }
}

#[tokio::test]
async fn mode_access_refuses_malformed_tokens_plainly() {
    let proxy = Proxy::new("team.example.com", "app").unwrap();
    let dashboard = Dashboard::Access(Arc::new(Access::new(proxy, Arc::new(NoKeys))));
    let bot = Bot::behind(dashboard, TOKENS, public()).await;
    for token in ["", "x", "a.b.c", "e30.e30.e30", "eyJhbGciOiJub25lIn0.e30."] {
        for path in [
            "/runs",
            "/api/runs.list",
            "/residents",
            "/metrics",
            "/runs/sign-in",
        ] {
            let headers = [("cf-access-jwt-assertion", token), ("accept", "text/html")];
            let refused = get(&bot, path, &headers).await;
            let body = if path.starts_with("/api") {
                FORBIDDEN
            } else {
                "Forbidden\n"
            };
            assert_eq!(
                (
                    refused.status().as_u16(),
                    refused.text().await.unwrap().as_str()
                ),
                (403, body)
            );
        }
    }
    assert_eq!(get(&bot, "/healthz", &[]).await.status(), 200);
}

#[tokio::test]
async fn absent_subsystems_answer_behind_the_gate() {
    let bot = Bot::behind(by_token("access:ops"), TOKENS, public()).await;
    let bearer = [("authorization", "Bearer look")];
    for (path, name) in [
        ("/residents", "execution.resident.baseUrl"),
        ("/residents/acme/app", "execution.resident.baseUrl"),
        ("/costs", "costs: this version has no"),
        ("/costs/main", "costs"),
        ("/costs.json", "costs"),
        ("/costs/main.json", "costs"),
        ("/mcp/connect/abc", "MCP servers: this version has no"),
        ("/mcp/oauth/callback?code=x", "MCP"),
    ] {
        let refused = get(&bot, path, &[]).await;
        assert_eq!(
            (refused.status().as_u16(), header(&refused, "cache-control")),
            (403, "no-store"),
            "{path}"
        );
        let absent = get(&bot, path, &bearer).await;
        assert_eq!(
            (absent.status().as_u16(), header(&absent, "cache-control")),
            (503, "no-store"),
            "{path}"
        );
        // Residents are pages, which can sign out.
        let form = if path.starts_with("/residents") {
            "form-action 'self'"
        } else {
            "form-action 'none'"
        };
        assert!(
            header(&absent, "content-security-policy").contains(form),
            "{path}"
        );
        assert_eq!(
            header(&absent, "content-type") == "application/json",
            path.ends_with(".json"),
            "{path}"
        );
        assert!(absent.text().await.unwrap().contains(name), "{path}");
    }
    for path in ["/residents/acme", "/costs/NOPE!", "/costs/a/b"] {
        assert_eq!(get(&bot, path, &[]).await.status(), 403, "{path}");
        let probe = get(&bot, path, &bearer).await;
        assert!(
            probe.text().await.unwrap().contains("\"inFlight\""),
            "{path}"
        );
    }
    let post = client()
        .request(Method::POST, bot.url("/residents"))
        .bearer_auth("look")
        .send()
        .await
        .unwrap();
    assert_eq!(
        (post.status().as_u16(), header(&post, "allow")),
        (405, "GET,HEAD")
    );
}
