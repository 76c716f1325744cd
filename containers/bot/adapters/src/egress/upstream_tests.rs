//! Tests the egress proxy behind a service proxy.

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;
use crate::upstream::UpstreamProxy;

/// Starts a proxy that accepts every request. Returns the port and the request heads.
async fn outer() -> (u16, UnboundedReceiver<String>) {
    let listener = TcpListener::bind((HERE, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (heads, seen) = unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            let answer = if head.starts_with("CONNECT") {
                "HTTP/1.1 200 Connection established\r\n\r\ninside"
            } else {
                "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nplain"
            };
            stream.write_all(answer.as_bytes()).await.unwrap();
            heads.send(head).unwrap();
        }
    });
    (port, seen)
}

async fn behind(rules: &[&str], names: Arc<Names>, port: u16) -> Served {
    let upstream = UpstreamProxy::from_service(|name| match name {
        "HTTPS_PROXY" => Some(format!("http://u:p@127.0.0.1:{port}").into()),
        "HTTP_PROXY" => Some(format!("http://u:p@localhost:{port}").into()),
        "NO_PROXY" => Some("direct.example".into()),
        _ => None,
    });
    let rules = rules
        .iter()
        .map(|text| HostRule::parse(text).unwrap())
        .collect();
    Served::start(RunEgress::behind(rules, names, upstream), None).await
}

#[tokio::test]
async fn allowed_hosts_go_through_the_proxy_of_the_service() {
    let (port, mut seen) = outer().await;
    // No name server knows the host, as behind many proxies.
    let proxy = behind(&["far.example"], Names::with(&[]), port).await;
    let answer = proxy.connect("far.example:443").await;
    assert!(is(&answer, 200) && answer.ends_with("inside"), "{answer}");
    let head = seen.recv().await.unwrap();
    assert_eq!(
        head,
        "CONNECT far.example:443 HTTP/1.1\r\nHost: far.example:443\r\nProxy-Authorization: Basic dTpw\r\n\r\n"
    );
    let answer = proxy.get("http://far.example/a?b").await;
    assert!(is(&answer, 200) && answer.ends_with("plain"), "{answer}");
    let head = seen.recv().await.unwrap().to_ascii_lowercase();
    assert!(
        head.starts_with("get http://far.example/a?b http/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.contains("proxy-authorization: basic dtpw\r\n"),
        "{head}"
    );
}

/// The service's proxy may reach addresses that this machine must not.
#[tokio::test]
async fn private_hosts_never_reach_the_proxy_of_the_service() {
    let (port, mut seen) = outer().await;
    let names = Names::with(&[
        ("inner.example", &[&["10.0.0.1"]]),
        ("metadata.example", &[&["169.254.169.254"]]),
    ]);
    let rules = ["inner.example", "x.internal", "metadata.example:443"];
    let proxy = behind(&rules, names, port).await;
    for target in [
        "inner.example:443",
        "x.internal:443",
        "metadata.example:443",
        "169.254.169.254:443",
        "other.example:443",
    ] {
        let answer = proxy.connect(target).await;
        assert!(is(&answer, 403), "{target}: {answer}");
    }
    assert!(seen.try_recv().is_err());
}

#[tokio::test]
async fn direct_hosts_pass_by_the_proxy_of_the_service() {
    let (port, mut seen) = outer().await;
    let site = origin().await;
    let names = Names::with(&[("direct.example", &[&["127.0.0.1"]])]);
    let proxy = behind(&[&format!("direct.example:{site}")], names, port).await;
    let answer = proxy.get(&format!("http://direct.example:{site}/x")).await;
    assert!(is(&answer, 200) && answer.contains("GET /x"), "{answer}");
    assert!(seen.try_recv().is_err());
}
