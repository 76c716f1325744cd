//! The daemon over HTTP.

use std::{
    collections::HashMap,
    fs,
    sync::{Arc, Mutex},
    time::Duration,
};

use ars_auth::Secret;
use ars_resident::daemon::{
    Answer, DiskRequest, FailureKind, Header, Job, SecretText, Status, StepEvent, StepInput,
    StepRequest, Transfer,
};
use ars_resident::disk::Sample;
use ars_resident::layout::MIRROR;
use ars_resident::names::{BackupId, ExecCommand};
use ars_resident::plan::{Operation, PlanStep, User, exec};
use ars_resident::thread::TreeDecision;
use ars_sandboxd::server::{CONNECTIONS_MAX, router, serve as serve_on};
use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::Request,
    http::{Method, header::CONTENT_LENGTH},
    response::Response,
};
use futures::{StreamExt as _, stream};
use reqwest::{Client, RequestBuilder, StatusCode};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::world::{World, is_running, main_ref, pool, thread};

const TOKEN: &str = "random";

async fn serve(world: &World) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let routes = router(
        Arc::clone(&world.daemon),
        Secret::parse(Some(TOKEN.into())).unwrap(),
    );
    tokio::spawn(serve_on(listener, routes));
    address
}

fn command(text: &str) -> StepRequest {
    let step = exec(
        &thread("load:1"),
        &main_ref(),
        pool(0),
        ExecCommand::parse(text).unwrap(),
        60_000,
    );
    StepRequest {
        job: Job::Request { id: 9 },
        step,
        input: StepInput::None,
        lock_wait_ms: None,
    }
}

fn with_body(request: RequestBuilder, body: &impl serde::Serialize) -> RequestBuilder {
    request
        .bearer_auth(TOKEN)
        .body(serde_json::to_vec(body).unwrap())
}

#[tokio::test]
async fn steps_stream_their_end() {
    let world = World::new(false);
    let provisioned = world.provision().await;
    world
        .attach(
            &provisioned,
            &thread("load:1"),
            pool(0),
            TreeDecision::Create,
        )
        .await;
    let address = serve(&world).await;
    let client = Client::new();
    for token in ["", "other"] {
        let answer = client
            .get(format!("{address}/v1/status"))
            .bearer_auth(token)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    }
    let bad = client
        .post(format!("{address}/v1/steps"))
        .bearer_auth(TOKEN)
        .body("{\"token\":\"s3cret\"}");
    let answer = bad.send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
    assert!(!answer.text().await.unwrap().contains("s3cret"));
    let post = with_body(
        client.post(format!("{address}/v1/steps")),
        &command("echo hello"),
    );
    let text = post.send().await.unwrap().text().await.unwrap();
    let Ok(StepEvent::Ended(end)) = serde_json::from_str(text.lines().last().unwrap()) else {
        panic!("{text}")
    };
    assert!(matches!(end.result, Ok(Answer::Command(end)) if end.stdout == "hello\n"));
    let get = client
        .get(format!("{address}/v1/status"))
        .bearer_auth(TOKEN);
    let status: Status =
        serde_json::from_slice(&get.send().await.unwrap().bytes().await.unwrap()).unwrap();
    assert_eq!(
        (
            status.build.as_str(),
            status.pool_users,
            status.running.len()
        ),
        ("test", 16, 0)
    );
    let request = DiskRequest {
        threads: vec![thread("load:1"), thread("load:2")],
    };
    let post = with_body(client.post(format!("{address}/v1/disk")), &request);
    let sample: Sample =
        serde_json::from_slice(&post.send().await.unwrap().bytes().await.unwrap()).unwrap();
    assert!(sample.parts.mirror.is_some_and(|kib| kib > 0) && sample.parts.checkout.is_some());
    assert!(sample.parts.threads[&thread("load:1")].is_some());
    assert_eq!(
        sample.parts.threads[&thread("load:2")],
        None,
        "what cannot be read is not 0"
    );
}

#[tokio::test]
async fn abandoned_request_leaves_no_process() {
    let world = World::new(false);
    let provisioned = world.provision().await;
    world
        .attach(
            &provisioned,
            &thread("load:1"),
            pool(0),
            TreeDecision::Create,
        )
        .await;
    let address = serve(&world).await;
    let post = with_body(
        Client::new().post(format!("{address}/v1/steps")),
        &command("sleep 800.25"),
    );
    let answer = post.send().await.unwrap();
    while !is_running("sleep\x00800.25") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(answer);
    while is_running("sleep\x00800.25") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// An object storage: it keeps what it is sent, and fails by object name.
async fn storage() -> String {
    let kept = Arc::new(Mutex::new(HashMap::<String, Bytes>::new()));
    let answer = move |request: Request| {
        let kept = Arc::clone(&kept);
        async move {
            let path = request.uri().path().to_owned();
            let status = |code: u16| Response::builder().status(code);
            if path == "/broken" {
                return status(503).body(Body::from("try again")).unwrap();
            }
            if request.method() == Method::PUT {
                let length = request.headers()[CONTENT_LENGTH]
                    .to_str()
                    .unwrap()
                    .to_owned();
                let body = to_bytes(request.into_body(), usize::MAX).await.unwrap();
                assert_eq!(
                    length,
                    body.len().to_string(),
                    "a storage needs the length first"
                );
                kept.lock().unwrap().insert(path, body);
                return status(200).body(Body::empty()).unwrap();
            }
            let body = kept.lock().unwrap()
                [path.trim_end_matches("/cut").trim_end_matches("/hangs")]
            .clone();
            let half = stream::iter([Ok::<_, std::io::Error>(body.slice(..body.len() / 2))]);
            match path.rsplit('/').next() {
                Some("cut") => status(200)
                    .header(CONTENT_LENGTH, body.len())
                    .body(Body::from_stream(
                        half.chain(stream::iter([Err(std::io::Error::other("cut"))])),
                    ))
                    .unwrap(),
                Some("hangs") => status(200)
                    .body(Body::from_stream(half.chain(stream::pending())))
                    .unwrap(),
                _ => status(200).body(body.into()).unwrap(),
            }
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    address
}

/// The daemon moves an archive itself. A cut or missing archive replaces nothing.
#[tokio::test]
async fn archive_moves_by_an_address() {
    let world = World::new(false);
    world.provision().await;
    let address = storage().await;
    let by = |path: &str| Transfer::Url {
        url: SecretText::new(format!("{address}{path}")),
        headers: vec![Header {
            name: "x-signature".into(),
            value: SecretText::new("s3cret"),
        }],
    };
    let run = async |operation: Operation, input: StepInput, timeout_ms: i64| {
        let user = User::ROOT;
        world
            .run(
                PlanStep {
                    name: "move".into(),
                    user,
                    operation,
                    timeout_ms,
                    needs_lock: true,
                },
                input,
            )
            .await
    };
    let backup = || BackupId::parse("one").unwrap();
    let upload = |path: &str| {
        let operation = Operation::Archive {
            path: MIRROR.into(),
            without: None,
        };
        run(
            operation,
            StepInput::Upload {
                backup: backup(),
                to: by(path),
            },
            60_000,
        )
    };
    let sent = upload("/one").await.unwrap();
    let Answer::Archived { sha256, .. } = sent else {
        panic!("{sent:?}")
    };
    let failed = upload("/broken").await.unwrap_err();
    assert_eq!(failed.kind, FailureKind::Transfer);
    assert!(
        failed.stderr.contains("503") && failed.stderr.contains("try again"),
        "{failed:?}"
    );
    assert!(!failed.stderr.contains(&address), "{failed:?}");
    let download = |path: &str, sha256: &str, timeout_ms| {
        let operation = Operation::Extract {
            backup: backup(),
            path: MIRROR.into(),
        };
        let input = StepInput::Download {
            from: by(path),
            sha256: Some(sha256.to_owned()),
        };
        run(operation, input, timeout_ms)
    };
    let marked = world.real("/workspace/mirror/before");
    fs::write(&marked, "").unwrap();
    for (path, kind) in [
        ("/broken", FailureKind::Transfer),
        ("/one/cut", FailureKind::Transfer),
        ("/one/hangs", FailureKind::Timeout),
    ] {
        let failed = download(path, &sha256, 1_000).await.unwrap_err();
        assert_eq!(failed.kind, kind, "{path}: {failed:?}");
        assert!(marked.exists(), "{path}");
    }
    assert_eq!(
        download("/one", "00", 60_000).await.unwrap_err().kind,
        FailureKind::Corrupt
    );
    assert!(matches!(
        download("/one", &sha256, 60_000).await,
        Ok(Answer::Extracted { .. })
    ));
    assert!(!marked.exists() && world.real("/workspace/mirror/HEAD").exists());
}

#[tokio::test]
async fn archives_pass_through_the_engine() {
    let world = World::new(false);
    let address = serve(&world).await;
    let client = Client::new();
    let url = |name: &str| format!("{address}/v1/transfers/{name}");
    let put = client
        .put(url("one"))
        .bearer_auth(TOKEN)
        .body(vec![7; 3 << 20])
        .send()
        .await
        .unwrap();
    assert_eq!(put.status(), StatusCode::NO_CONTENT);
    let get = client
        .get(url("one"))
        .bearer_auth(TOKEN)
        .send()
        .await
        .unwrap();
    assert_eq!(
        (get.content_length(), get.bytes().await.unwrap().len()),
        (Some(3 << 20), 3 << 20)
    );
    for name in ["one", "..%2f..%2fx", "two"] {
        let removed = client
            .delete(url(name))
            .bearer_auth(TOKEN)
            .send()
            .await
            .unwrap();
        assert_eq!(removed.status().is_success(), !name.contains('%'), "{name}");
        let get = client
            .get(url(name))
            .bearer_auth(TOKEN)
            .send()
            .await
            .unwrap();
        assert_eq!(get.status(), StatusCode::NOT_FOUND, "{name}");
    }
}

/// The Worker's runtime keeps earlier requests' connections open, as the clients here do.
#[tokio::test]
async fn connections_of_ended_requests_are_closed() {
    let world = World::new(false);
    let address = serve(&world).await;
    let mut connections = Vec::new();
    for _ in 0..=CONNECTIONS_MAX {
        let mut stream = TcpStream::connect(address.trim_start_matches("http://"))
            .await
            .unwrap();
        let head =
            format!("GET /v1/status HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        connections.push(stream);
    }
}
