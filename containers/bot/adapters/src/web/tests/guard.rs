//! Tests connections: names with changing addresses, redirects, and request headers.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::{
    extract::{Path, Request},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Redirect},
    routing::get,
};

use super::*;
use crate::{egress::HostRule, upstream::UpstreamProxy, web::WebPolicy};

/// Starts a site that counts requests; `/to?<url>` redirects there, `/hops/<n>` down to `/hops/0`.
async fn counting() -> (Site, Arc<AtomicUsize>) {
    let hits = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&hits);
    let router = Router::new()
        .route("/", get(async || "home"))
        .route(
            "/to",
            get(async |request: Request| redirect_to(request.uri().query().unwrap())),
        )
        .route("/loop", get(async || Redirect::temporary("/loop")))
        .route(
            "/hops/{n}",
            get(async |Path(n): Path<usize>| match n {
                0 => "landed".into_response(),
                n => redirect_to(&format!("/hops/{}", n - 1)),
            }),
        )
        .layer(axum::middleware::map_request(move |request: Request| {
            counter.fetch_add(1, Ordering::SeqCst);
            std::future::ready(request)
        }));
    (Site::serve(router).await, hits)
}

fn redirect_to(url: &str) -> axum::response::Response {
    (StatusCode::FOUND, [(header::LOCATION, url.to_owned())]).into_response()
}

async fn fetch(web: &PublicWeb, url: &str) -> Result<Fetched, WebError> {
    web.fetch(
        url,
        FetchScope::default(),
        FetchLimits::default(),
        &CancellationToken::new(),
    )
    .await
}

#[tokio::test]
async fn rebound_name_is_rejected_at_next_connection() {
    let (site, hits) = counting().await;
    let names = Names::with(&[("site.example", &[&[HERE], &[PRIVATE]])]);
    let web = web(Arc::clone(&names));
    assert_eq!(
        text(fetch(&web, &site.url("site.example", "/")).await).0,
        "home"
    );
    assert_eq!(
        fetch(&web, &site.url("site.example", "/")).await,
        Err(WebError::Forbidden)
    );
    // A single lookup per connection: the checked address is used.
    assert_eq!((hits.load(Ordering::SeqCst), names.asked()), (1, 2));
}

#[tokio::test]
async fn rebound_name_is_rejected_in_a_redirect() {
    let (site, hits) = counting().await;
    let web = web(Names::with(&[("site.example", &[&[HERE], &[PRIVATE]])]));
    let refused = WebError::Redirect(Box::new(WebError::Forbidden));
    assert_eq!(
        fetch(&web, &site.url("site.example", "/hops/1")).await,
        Err(refused)
    );
    assert_eq!(hits.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn one_private_address_rejects_the_name() {
    let (site, hits) = counting().await;
    let web = web(Names::with(&[
        ("both.example", &[&[HERE, PRIVATE]]),
        ("none.example", &[&[]]),
    ]));
    assert_eq!(
        fetch(&web, &site.url("both.example", "/")).await,
        Err(WebError::Forbidden)
    );
    assert_eq!(
        fetch(&web, &site.url("none.example", "/")).await,
        Err(WebError::Unresolved)
    );
    assert_eq!(
        fetch(&web, &site.url("unknown.example", "/")).await,
        Err(WebError::Unresolved)
    );
    assert_eq!(hits.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_redirect_to_anything_private_is_refused() {
    let (site, hits) = counting().await;
    let names = Names::with(&[
        ("site.example", &[&[HERE]]),
        ("inner.example", &[&[PRIVATE]]),
    ]);
    let web = web(names);
    let targets = [
        (
            "http://169.254.169.254/latest/meta-data/",
            WebError::Forbidden,
        ),
        ("http://0xa9fea9fe/", WebError::Forbidden),
        ("http://[::ffff:169.254.169.254]/", WebError::Forbidden),
        ("http://localhost/", WebError::Forbidden),
        ("//metadata.google.internal/", WebError::Forbidden),
        ("http://inner.example/", WebError::Forbidden),
        ("file:///etc/passwd", WebError::Url),
        ("http://user:word@site.example/", WebError::Url),
    ];
    for (target, error) in &targets {
        let got = fetch(&web, &site.url("site.example", &format!("/to?{target}"))).await;
        assert_eq!(
            got,
            Err(WebError::Redirect(Box::new(error.clone()))),
            "{target}"
        );
    }
    assert_eq!(hits.load(Ordering::SeqCst), targets.len());
}

#[tokio::test]
async fn sixth_redirect_is_rejected() {
    let (site, hits) = counting().await;
    let limits = FetchLimits::default();
    let landed = super::get(&site, "/hops/5", limits).await;
    assert_eq!(
        landed.as_ref().unwrap().url,
        site.url("site.example", "/hops/0")
    );
    assert_eq!(text(landed).0, "landed");
    assert_eq!(
        super::get(&site, "/hops/6", limits).await,
        Err(WebError::Redirects(5))
    );
    assert_eq!(
        super::get(&site, "/loop", limits).await,
        Err(WebError::Redirects(5))
    );
    assert_eq!(hits.load(Ordering::SeqCst), 18);
}

#[tokio::test]
async fn production_guard_rejects_this_machine() {
    let (site, hits) = counting().await;
    let web = PublicWeb::new(None).unwrap();
    for host in ["127.0.0.1", "2130706433", "[::1]", "localhost", "0"] {
        assert_eq!(
            fetch(&web, &site.url(host, "/")).await,
            Err(WebError::Forbidden),
            "{host}"
        );
    }
    assert_eq!(hits.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn requests_carry_no_identifying_headers() {
    let seen: Arc<Mutex<Vec<HeaderMap>>> = Arc::default();
    let kept = Arc::clone(&seen);
    let router = Router::new().fallback(async move |request: Request| {
        kept.lock().unwrap().push(request.headers().clone());
        let status = if request.uri().path() == "/a" {
            StatusCode::FOUND
        } else {
            StatusCode::OK
        };
        (
            status,
            [(header::SET_COOKIE, "id=1"), (header::LOCATION, "/b")],
            "x",
        )
    });
    let site = Site::serve(router).await;
    super::get(&site, "/a?token=x", FetchLimits::default())
        .await
        .unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 2);
    for headers in seen.iter() {
        let mut names: Vec<_> = headers.keys().map(header::HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept", "accept-encoding", "host", "user-agent"]);
        assert!(
            headers[header::USER_AGENT]
                .to_str()
                .unwrap()
                .starts_with("ars/")
        );
    }
}

#[tokio::test]
async fn nobody_listening_is_told_apart_from_a_refusal() {
    let (site, _) = counting().await;
    let url = site.url("site.example", "/");
    drop(site);
    let free = tokio::net::TcpListener::bind((HERE, 0))
        .await
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let web = web(Names::with(&[("site.example", &[&[HERE]])]));
    let url = url.replace(&url[url.rfind(':').unwrap() + 1..], &format!("{free}/"));
    assert_eq!(fetch(&web, &url).await, Err(WebError::Unreachable));
}

/// A listed page cannot lead a run with a tree to another host.
#[tokio::test]
async fn redirect_stays_within_the_list() {
    let (site, _) = counting().await;
    let names = Names::with(&[("site.example", &[&[HERE]]), ("other.example", &[&[HERE]])]);
    let port = site.address.port();
    let rule = HostRule::parse(&format!("site.example:{port}")).unwrap();
    let web = web(names).with_policy(WebPolicy {
        allow: vec![rule],
        ..WebPolicy::default()
    });
    let scope = FetchScope {
        agent: "coding",
        has_tree: true,
        ..FetchScope::default()
    };
    let fetch = async |url: String| {
        web.fetch(
            &url,
            scope,
            FetchLimits::default(),
            &CancellationToken::new(),
        )
        .await
    };
    let other = site.url("other.example", "/");
    assert!(fetch(site.url("site.example", "/to?/hops/0")).await.is_ok());
    let unlisted = || WebError::Unlisted("other.example".into());
    assert_eq!(fetch(other.clone()).await, Err(unlisted()));
    let redirected = fetch(site.url("site.example", &format!("/to?{other}"))).await;
    assert_eq!(redirected, Err(WebError::Redirect(Box::new(unlisted()))));
}

/// Makes a web behind a proxy at this site. `direct.example` is reached directly.
fn behind(site: &Site, names: Arc<Names>) -> PublicWeb {
    let proxy = format!("http://{}", site.address);
    let upstream = UpstreamProxy::from_service(|name| match name {
        "ALL_PROXY" => Some(proxy.clone().into()),
        "NO_PROXY" => Some("direct.example".into()),
        _ => None,
    });
    web(names).through(Arc::new(upstream)).unwrap()
}

#[tokio::test]
async fn page_is_fetched_through_the_proxy_of_the_service() {
    let proxy =
        Site::serve(Router::new().fallback(async |request: Request| request.uri().to_string()))
            .await;
    let web = behind(&proxy, Names::with(&[("direct.example", &[&[HERE]])]));
    // No name server knows the host, as behind many proxies.
    assert_eq!(
        text(fetch(&web, "http://far.example/a?b").await).0,
        "http://far.example/a?b"
    );
    assert_eq!(
        text(fetch(&web, &proxy.url("direct.example", "/c")).await).0,
        "/c"
    );
}

/// The proxy may reach what this machine must not.
#[tokio::test]
async fn private_page_never_reaches_the_proxy() {
    let (proxy, hits) = counting().await;
    let web = behind(&proxy, Names::with(&[("inner.example", &[&[PRIVATE]])]));
    for url in [
        "http://inner.example/",
        "http://10.0.0.1/",
        "http://x.internal/",
        "http://169.254.169.254/",
    ] {
        assert_eq!(fetch(&web, url).await, Err(WebError::Forbidden), "{url}");
    }
    assert_eq!(hits.load(Ordering::SeqCst), 0);
    let refused = WebError::Redirect(Box::new(WebError::Forbidden));
    assert_eq!(
        fetch(&web, "http://far.example/to?http://inner.example/").await,
        Err(refused)
    );
    assert_eq!(hits.load(Ordering::SeqCst), 1);
}
