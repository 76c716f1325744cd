//! The transport over HTTP, against a server with scripted answers.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use ars_auth::Secret;
use ars_bot_adapters::residents::{ResidentWorker, ResidentsClient};
use ars_bot_ports::{Residents, ResidentsError};
use ars_resident::{
    names::Resource,
    refusal::Token,
    wire::{ExecRequest, StatusRequest},
};
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::header::AUTHORIZATION,
    response::Response,
};
use futures::{StreamExt as _, stream};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const OPERATOR: &str = "operator-s3cret";
const ADMIN: &str = "admin-s3cret";

type Seen = Arc<Mutex<Vec<String>>>;

/// Answers as the resident Worker does, and notes each request with the bearer.
async fn answer(State(seen): State<Seen>, request: Request) -> Response {
    let bearer = request.headers()[AUTHORIZATION].to_str().unwrap();
    let line = format!("{} {} {bearer}", request.method(), request.uri());
    seen.lock().unwrap().push(line);
    match request.uri().path() {
        "/status" => Response::new(json!({"state": "warm", "reason": null}).to_string().into()),
        "/residents" => Response::builder()
            .status(502)
            .body(format!("upstream said {bearer}").into())
            .unwrap(),
        "/push" => Response::new("\n\n{\"pushed\":false,\"reason\":\"Protected branch\"}".into()),
        "/checkout" => Response::new("\n{\"error\":\"unknown-ref: gone\"}".into()),
        // Line feeds, then the document, in pieces.
        "/exec" => {
            let document =
                json!({"stdout": "out", "stderr": "", "exitCode": 7, "truncated": false})
                    .to_string();
            let pieces = [
                "\n".to_owned(),
                "\n".to_owned(),
                document[..9].to_owned(),
                document[9..].to_owned(),
            ];
            let pieces = stream::iter(pieces).map(Ok::<_, std::io::Error>);
            Response::new(Body::from_stream(pieces))
        }
        _ => Response::new(Body::from_stream(stream::pending::<
            Result<String, std::io::Error>,
        >())),
    }
}

async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

async fn client(admin: Option<&str>) -> (impl Residents, Seen) {
    let seen = Seen::default();
    let listener = listener().await;
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let router = Router::new().fallback(answer).with_state(Arc::clone(&seen));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let secret = |text: &str| Secret::parse(Some(text.to_owned())).unwrap();
    let admin = admin.map(secret);
    let worker = ResidentWorker::at(&url, &secret(OPERATOR), admin.as_ref()).unwrap();
    (ResidentsClient::over(worker, Duration::from_secs(5)), seen)
}

fn resource() -> Resource {
    Resource::parse("repo:acme/app").unwrap()
}

#[tokio::test]
async fn each_route_has_its_bearer() {
    let (client, seen) = client(Some(ADMIN)).await;
    let never = CancellationToken::new();
    let status = client
        .status(
            &StatusRequest {
                resource: resource(),
            },
            &never,
        )
        .await
        .unwrap();
    assert!(status.is_serviceable());
    let Err(ResidentsError::Failed(text)) = client.list(&never).await else {
        panic!()
    };
    assert!(text.contains("502") && !text.contains("s3cret"), "{text}");
    let expected = [
        format!("GET /status?resource=repo:acme/app Bearer {OPERATOR}"),
        format!("GET /residents Bearer {ADMIN}"),
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[tokio::test]
async fn operator_asks_no_route_of_administrators() {
    let (client, seen) = client(None).await;
    let listed = client.list(&CancellationToken::new()).await;
    assert!(
        matches!(&listed, Err(ResidentsError::Unreachable(text)) if text.contains("adminTokenEnv")),
        "{listed:?}"
    );
    assert!(seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn streamed_answer_is_one_document() {
    let (client, _) = client(None).await;
    let request: ExecRequest = serde_json::from_value(
        json!({"resource": "repo:acme/app", "threadKey": "load:1", "command": "true"}),
    )
    .unwrap();
    assert_eq!(
        client
            .exec(&request, &CancellationToken::new())
            .await
            .unwrap()
            .exit_code,
        7
    );
}

#[tokio::test]
async fn pushes_and_check_outs_are_the_operators() {
    let (client, seen) = client(Some(ADMIN)).await;
    let never = CancellationToken::new();
    let fields = json!({
        "resource": "repo:acme/app", "threadKey": "load:1", "sha": "a".repeat(40), "branch": "ars/run-1",
        "from": { "pullRequest": 7 },
    });
    let pushed = client
        .push(&serde_json::from_value(fields.clone()).unwrap(), &never)
        .await
        .unwrap();
    assert_eq!(
        (pushed.pushed, pushed.reason.as_deref()),
        (false, Some("Protected branch"))
    );
    let refused = client
        .check_out(&serde_json::from_value(fields).unwrap(), &never)
        .await;
    assert!(
        matches!(&refused, Err(ResidentsError::Refused(why)) if why.token() == Token::UnknownRef)
    );
    let lines = ["/push", "/checkout"].map(|path| format!("POST {path} Bearer {OPERATOR}"));
    assert_eq!(*seen.lock().unwrap(), lines);
}

/// The response to an attach never comes. The caller's stop ends the wait.
#[tokio::test]
async fn cancelled_call_ends_at_once() {
    let (client, seen) = client(None).await;
    let stop = CancellationToken::new();
    let request =
        serde_json::from_value(json!({"resource": "repo:acme/app", "threadKey": "load:1"}))
            .unwrap();
    let attach = client.attach(&request, &stop);
    let stopping = async {
        while seen.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    };
    assert_eq!(
        tokio::join!(attach, stopping).0,
        Err(ResidentsError::Cancelled)
    );
}

/// A host sends nothing, and another sends only the response head.
#[tokio::test]
async fn silent_host_is_unreachable() {
    let silent = listener().await;
    let half = listener().await;
    let addresses = [&silent, &half].map(|listener| listener.local_addr().unwrap());
    let head = || async {
        Response::new(Body::from_stream(stream::pending::<
            Result<String, std::io::Error>,
        >()))
    };
    tokio::spawn(async move { axum::serve(half, Router::new().fallback(head)).await });
    let secret = Secret::parse(Some(OPERATOR.to_owned())).unwrap();
    let never = CancellationToken::new();
    let request = StatusRequest {
        resource: resource(),
    };
    for address in addresses {
        let worker = ResidentWorker::at(&format!("http://{address}"), &secret, None).unwrap();
        let client = ResidentsClient::over(worker, Duration::from_millis(50));
        for _ in 0..2 {
            let status = client.status(&request, &never).await;
            assert!(
                matches!(&status, Err(ResidentsError::Unreachable(_))),
                "{address}: {status:?}"
            );
        }
    }
    drop(silent);
}
