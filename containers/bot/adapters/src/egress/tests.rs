//! Tests the proxy over the loopback interface, with a scripted resolver.

#[path = "upstream_tests.rs"]
mod behind_a_proxy;

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    http::{StatusCode, header},
    response::IntoResponse as _,
};
use futures::stream;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    limits::{MAX_BYTES, MAX_CONNECTIONS, MAX_HEADER_BYTES},
    proxy::{Proxy, credentials, restarted},
    rule::HostRule,
    run::RunEgress,
};
use crate::web::Lookup;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A resolver with scripted answers for each name; the last answer repeats. `panics` panics.
#[derive(Default)]
struct Names(Mutex<HashMap<String, Vec<Vec<IpAddr>>>>);

impl Names {
    fn with(names: &[(&str, &[&[&str]])]) -> Arc<Self> {
        let parse = |answer: &&[&str]| {
            answer
                .iter()
                .map(|address| address.parse().unwrap())
                .collect()
        };
        let names = names.iter();
        let names = names.map(|(name, answers)| {
            (
                (*name).to_owned(),
                answers.iter().rev().map(parse).collect(),
            )
        });
        Arc::new(Self(Mutex::new(names.collect())))
    }
}

#[async_trait]
impl Lookup for Names {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        assert_ne!(name, "panics.example", "as scripted");
        match self.0.lock().unwrap().get_mut(name) {
            Some(answers) if answers.len() > 1 => Ok(answers.pop().unwrap()),
            Some(answers) => Ok(answers[0].clone()),
            None => Err(io::Error::other("no such name")),
        }
    }
}

/// A proxy on a local port.
struct Served {
    run: Arc<RunEgress>,
    address: SocketAddr,
    _open: DropGuard,
}

impl Served {
    async fn start(run: Arc<RunEgress>, secret: Option<&str>) -> Self {
        let listener = TcpListener::bind((HERE, 0)).await.unwrap();
        let (address, closed) = (listener.local_addr().unwrap(), CancellationToken::new());
        let proxy = Proxy {
            run: Arc::clone(&run),
            secret: secret.map(Arc::from),
            closed: closed.clone(),
        };
        tokio::spawn(proxy.supervise(listener));
        Self {
            run,
            address,
            _open: closed.drop_guard(),
        }
    }

    /// Sends the bytes and returns everything that the proxy sends until it closes the connection.
    async fn send(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // The proxy may refuse before it has read everything.
        let _ = stream.write_all(request.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Returns the response status for a request to this URL.
    async fn get(&self, url: &str) -> String {
        let authority = url.trim_start_matches("http://").split('/').next().unwrap();
        self.send(&format!(
            "GET {url} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n"
        ))
        .await
    }

    async fn connect(&self, target: &str) -> String {
        self.send(&format!(
            "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nConnection: close\r\n\r\n"
        ))
        .await
    }

    fn refused(&self) -> Vec<String> {
        self.run
            .take_refused()
            .into_iter()
            .map(|refused| refused.host)
            .collect()
    }
}

fn run(rules: &[&str], names: Arc<Names>) -> Arc<RunEgress> {
    let rules = rules
        .iter()
        .map(|text| HostRule::parse(text).unwrap())
        .collect();
    RunEgress::with(rules, names, MAX_BYTES, MAX_CONNECTIONS)
}

/// Starts an origin that shows the request line and headers, redirects `/to?<url>`, and sends `/long`.
async fn origin() -> u16 {
    let show = async |request: Request| match request.uri().path() {
        "/to" => (
            StatusCode::FOUND,
            [(header::LOCATION, request.uri().query().unwrap().to_owned())],
        )
            .into_response(),
        "/long" => "x".repeat(100_000).into_response(),
        "/stall" => Body::from_stream(stream::pending::<io::Result<Bytes>>()).into_response(),
        _ => format!(
            "{} {} {:?}",
            request.method(),
            request.uri(),
            request.headers()
        )
        .into_response(),
    };
    let listener = TcpListener::bind((HERE, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(show)).await });
    port
}

/// A proxy that allows `origin.example` with the origin's port.
async fn with_origin() -> (Served, u16) {
    let port = origin().await;
    let names = Names::with(&[("origin.example", &[&["127.0.0.1"]])]);
    (
        Served::start(run(&[&format!("origin.example:{port}")], names), None).await,
        port,
    )
}

fn is(answer: &str, status: u16) -> bool {
    answer.starts_with(&format!("HTTP/1.1 {status} "))
}

#[tokio::test]
async fn plain_request_reaches_the_allowed_host() {
    let (proxy, port) = with_origin().await;
    let request = format!(
        "GET http://origin.example:{port}/a?b HTTP/1.1\r\nHost: origin.example:{port}\r\nProxy-Authorization: Basic x\r\n\
         Connection: close, X-Hop\r\nX-Hop: 1\r\nX-End: 1\r\n\r\n"
    );
    let answer = proxy.send(&request).await;
    assert!(is(&answer, 200) && answer.contains("GET /a?b"), "{answer}");
    assert!(
        answer.contains("x-end") && answer.contains(&format!("origin.example:{port}")),
        "{answer}"
    );
    assert!(
        !answer.contains("x-hop") && !answer.contains("proxy-authorization"),
        "{answer}"
    );
    assert!(proxy.refused().is_empty());
}

#[tokio::test]
async fn tunnel_carries_bytes_both_ways() {
    let (proxy, port) = with_origin().await;
    let mut stream = TcpStream::connect(proxy.address).await.unwrap();
    stream
        .write_all(format!("CONNECT origin.example:{port} HTTP/1.1\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let mut head = [0; 256];
    let read = stream.read(&mut head).await.unwrap();
    assert!(is(&String::from_utf8_lossy(&head[..read]), 200));
    stream
        .write_all(b"GET /inside HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("GET /inside"), "{answer}");
}

#[tokio::test]
async fn refused_destinations_are_reported_once() {
    let (proxy, port) = with_origin().await;
    for target in [
        "other.example:443",
        "origin.example:22",
        "169.254.169.254:80",
        "[::1]:443",
        "2130706433:443",
    ] {
        let answer = proxy.connect(target).await;
        assert!(is(&answer, 403), "{target}: {answer}");
    }
    let answer = proxy.get("http://other.example/").await;
    assert!(
        is(&answer, 403) && answer.contains("sandbox.egress.allow = [\"other.example\"]"),
        "{answer}"
    );
    assert!(is(
        &proxy.get(&format!("http://127.0.0.1:{port}/")).await,
        403
    ));
    let expected = [
        "other.example",
        "origin.example:22",
        "169.254.169.254",
        "[::1]",
        "2130706433",
        "127.0.0.1",
    ];
    assert_eq!(proxy.refused(), expected);
    assert!(is(&proxy.connect("other.example:443").await, 403));
    assert!(proxy.refused().is_empty());
}

#[tokio::test]
async fn addresses_of_allowed_hosts_are_checked() {
    let port = origin().await;
    let names = Names::with(&[
        ("private.example", &[&["10.0.0.1"]]),
        ("mixed.example", &[&["8.8.8.8", "127.0.0.1"]]),
        ("mapped.example", &[&["::ffff:127.0.0.1"]]),
        ("nat64.example", &[&["64:ff9b::a9fe:a9fe"]]),
        ("cgnat.example", &[&["100.64.0.1"]]),
        ("metadata.example", &[&["169.254.169.254"]]),
        ("rebound.example", &[&["127.0.0.1"], &["169.254.169.254"]]),
    ]);
    let (metadata, rebound) = (
        format!("metadata.example:{port}"),
        format!("rebound.example:{port}"),
    );
    let rules = [
        "private.example",
        "mixed.example",
        "mapped.example",
        "nat64.example",
        "cgnat.example",
    ];
    let rules: Vec<&str> = rules
        .into_iter()
        .chain([metadata.as_str(), &rebound])
        .collect();
    let proxy = Served::start(run(&rules, names), None).await;
    for host in &rules[..5] {
        let answer = proxy.connect(&format!("{host}:443")).await;
        let setting = format!("sandbox.egress.allow = [\"{host}:443\"]");
        assert!(
            is(&answer, 403) && answer.contains("not public") && answer.contains(&setting),
            "{answer}"
        );
    }
    assert!(is(&proxy.connect(&metadata).await, 403));
    // The name is resolved for each connection, and the checked address is used.
    assert!(is(&proxy.get(&format!("http://{rebound}/")).await, 200));
    assert!(is(&proxy.get(&format!("http://{rebound}/")).await, 403));
    assert!(is(&proxy.connect("unknown.example:443").await, 403));
}

#[tokio::test]
async fn redirect_is_another_request() {
    let (proxy, port) = with_origin().await;
    let through = reqwest::Proxy::all(format!("http://{}", proxy.address)).unwrap();
    let client = reqwest::Client::builder().proxy(through).build().unwrap();
    let to = |url: &str| {
        client
            .get(format!("http://origin.example:{port}/to?{url}"))
            .send()
    };
    assert_eq!(
        to(&format!("http://origin.example:{port}/"))
            .await
            .unwrap()
            .status(),
        200
    );
    assert!(proxy.refused().is_empty());
    assert_eq!(to("http://other.example/").await.unwrap().status(), 403);
    assert_eq!(proxy.refused(), ["other.example"]);
}

#[tokio::test]
async fn ambiguous_requests_are_rejected() {
    let (proxy, port) = with_origin().await;
    let allowed = format!("origin.example:{port}");
    for request in [
        format!(
            "GET http://{allowed}/ HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n"
        ),
        format!(
            "GET http://{allowed}/ HTTP/1.1\r\nHost: {allowed}\r\nHost: other.example\r\nConnection: close\r\n\r\n"
        ),
        format!("GET http://u@{allowed}/ HTTP/1.1\r\nHost: {allowed}\r\nConnection: close\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: {allowed}\r\nConnection: close\r\n\r\n"),
        format!("GET https://{allowed}/ HTTP/1.1\r\nHost: {allowed}\r\nConnection: close\r\n\r\n"),
        "CONNECT origin.example HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(),
    ] {
        let answer = proxy.send(&request).await;
        assert!(is(&answer, 400), "{request}{answer}");
    }
}

#[tokio::test]
async fn oversize_headers_are_rejected() {
    let (proxy, port) = with_origin().await;
    let long = "x".repeat(2 * MAX_HEADER_BYTES);
    let request = format!("GET http://origin.example:{port}/ HTTP/1.1\r\nX: {long}\r\n\r\n");
    let answer = proxy.send(&request).await;
    assert!(answer.is_empty() || is(&answer, 431), "{answer}");
}

/// The clock is paused, so the timeout passes as soon as nothing else happens.
#[tokio::test(start_paused = true)]
async fn slow_headers_time_out() {
    let (proxy, _) = with_origin().await;
    let answer = proxy
        .send("GET http://origin.example/ HTTP/1.1\r\nHost: ori")
        .await;
    assert!(answer.is_empty() || is(&answer, 408), "{answer}");
}

#[tokio::test]
async fn connections_of_a_run_are_limited() {
    let run = RunEgress::with(Vec::new(), Names::with(&[]), MAX_BYTES, 1);
    let proxy = Served::start(run, None).await;
    let mut first = TcpStream::connect(proxy.address).await.unwrap();
    // The response shows that the first connection has a permit.
    first
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    assert_ne!(first.read(&mut [0; 64]).await.unwrap(), 0);
    assert!(is(&proxy.send("").await, 503));
}

#[tokio::test]
async fn bytes_of_a_run_are_limited() {
    let port = origin().await;
    let rules = vec![HostRule::parse(&format!("origin.example:{port}")).unwrap()];
    let names = Names::with(&[("origin.example", &[&["127.0.0.1"]])]);
    let proxy = Served::start(RunEgress::with(rules, names, 50_000, MAX_CONNECTIONS), None).await;
    let answer = proxy
        .get(&format!("http://origin.example:{port}/long"))
        .await;
    assert!(answer.len() < 60_000, "{}", answer.len());
    let answer = proxy.get(&format!("http://origin.example:{port}/")).await;
    assert!(
        is(&answer, 403) && answer.contains("maximum number of bytes"),
        "{answer}"
    );
}

#[tokio::test]
async fn secret_of_the_command_is_required() {
    let proxy = Served::start(run(&[], Names::with(&[])), Some("abc")).await;
    let request =
        |line: &str| format!("CONNECT x.example:443 HTTP/1.1\r\n{line}Connection: close\r\n\r\n");
    assert!(is(&proxy.send(&request("")).await, 407));
    let wrong = format!("Proxy-Authorization: {}\r\n", credentials("abd"));
    assert!(is(&proxy.send(&request(&wrong)).await, 407));
    let right = format!("Proxy-Authorization: {}\r\n", credentials("abc"));
    assert!(is(&proxy.send(&request(&right)).await, 403));
}

#[tokio::test]
async fn stalled_answer_is_closed() {
    let (proxy, port) = with_origin().await;
    let mut stream = TcpStream::connect(proxy.address).await.unwrap();
    let request = format!(
        "GET http://origin.example:{port}/stall HTTP/1.1\r\nHost: origin.example:{port}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    assert_ne!(stream.read(&mut [0; 512]).await.unwrap(), 0);
    // The clock is paused, so the timeout passes as soon as nothing else happens.
    tokio::time::pause();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    assert_eq!(rest, b"");
}

#[tokio::test]
async fn panicking_proxy_is_restarted() {
    let proxy = Proxy {
        run: run(&[], Names::with(&[])),
        secret: None,
        closed: CancellationToken::new(),
    };
    let listener = TcpListener::bind((HERE, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let starts = AtomicUsize::new(0);
    let serve = || async {
        assert_ne!(starts.fetch_add(1, Ordering::Relaxed), 0, "as scripted");
        proxy.serve(&listener).await;
    };
    let asked = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(b"CONNECT other.example:443 HTTP/1.1\r\nConnection: close\r\n\r\n")
            .await
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    let answer = tokio::select! {
        () = restarted(serve) => unreachable!("a proxy has no end of its own"),
        answer = asked => answer,
    };
    assert!(is(&answer, 403), "{answer}");
    assert_eq!(starts.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn panic_ends_one_connection_only() {
    let proxy = Served::start(run(&["panics.example"], Names::with(&[])), None).await;
    assert_eq!(proxy.connect("panics.example:443").await, "");
    assert!(is(&proxy.connect("other.example:443").await, 403));
}
