//! The workspace's HTTP server. A fault may end a connection without an answer.

use std::{
    io,
    sync::{Arc, Mutex},
};

use axum::{
    body::Body,
    http::{Request, Response},
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn, upgrade::OnUpgrade};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::{
    api::{self, Answer},
    arguments::Arguments,
    fault::Fault,
    files, page,
    received::Received,
    shared::Shared,
    socket,
    state::Call,
};

/// An upgrade that a handshake leaves for the connection's task.
type Upgrade = Arc<Mutex<Option<OnUpgrade>>>;

/// Accepts connections until it is dropped, which ends all of them.
pub(super) async fn run(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((stream, _)) = listener.accept() => {
                connections.spawn(connection(stream, Arc::clone(&shared)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let upgrade = Upgrade::default();
    let service = service_fn(|request| handle(Arc::clone(&shared), Arc::clone(&upgrade), request));
    // It fails when either side ends the connection early.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
    let upgrade = upgrade.lock().unwrap().take();
    if let Some(upgrade) = upgrade {
        socket::serve(shared, upgrade).await;
    }
}

/// Answers a request. An error ends the connection without an answer.
async fn handle(
    shared: Arc<Shared>,
    upgrade: Upgrade,
    mut request: Request<Incoming>,
) -> io::Result<Response<Body>> {
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    if path == "/link/" {
        let headers = request.headers().clone();
        let (response, is_accepted) =
            shared.change(|workspace| socket::accept(workspace, &query, &headers));
        if is_accepted {
            *upgrade.lock().unwrap() = Some(hyper::upgrade::on(&mut request));
        }
        return Ok(response);
    }
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(Body::new(body), usize::MAX).await;
    let received = Received {
        path,
        query,
        headers: parts.headers,
        body: body.map_err(io::Error::other)?.to_vec(),
    };
    if let Some(method) = received.path.strip_prefix("/api/") {
        return call(&shared, method, &received).await;
    }
    if let Some(response) = page::answer(&shared, &received) {
        return Ok(response);
    }
    let answer = shared.change(|workspace| files::answer(workspace, &received));
    Ok(answer.into_response(None))
}

/// Performs a call of the Web API, with the fault that a test queued for it.
async fn call(shared: &Shared, method: &str, received: &Received) -> io::Result<Response<Body>> {
    let takes_json = api::takes_json(method);
    let arguments = Arguments::read(
        &received.query,
        &received.headers,
        &received.body,
        takes_json,
    );
    let (index, fault) = shared.change(|workspace| {
        let fault = workspace
            .faults
            .iter_mut()
            .position(|planned| planned.is_due(method))
            .and_then(|at| workspace.faults.remove(at));
        let at = workspace.clock.now();
        workspace.calls.push(Call {
            method: method.to_owned(),
            arguments: arguments.recorded(),
            at,
            is_decided: false,
            error: None,
        });
        (
            workspace.calls.len() - 1,
            fault.map(|planned| planned.fault),
        )
    });
    let early = match &fault {
        Some(Fault::RateLimited(seconds)) => Some(Answer::limited(*seconds)),
        Some(Fault::Error(code)) => Some(Answer::error(code)),
        Some(Fault::Status(status)) => Some(Answer::page(*status, "<html>Something broke</html>")),
        Some(Fault::DropBefore) => return Err(dropped()),
        Some(Fault::Hang(permit)) => {
            permit.notified().await;
            None
        }
        Some(Fault::DropAfter | Fault::HangAfter(_)) | None => None,
    };
    let (answer, scopes) = shared.change(|workspace| {
        let answer = early.unwrap_or_else(|| api::answer(workspace, method, &arguments));
        workspace.calls[index].error = answer.code();
        workspace.calls[index].is_decided = true;
        (answer, workspace.scopes.clone())
    });
    match fault {
        Some(Fault::DropAfter) => return Err(dropped()),
        Some(Fault::HangAfter(permit)) => permit.notified().await,
        _ => {}
    }
    let scopes: Vec<String> = scopes.into_iter().collect();
    Ok(answer.into_response(Some(&scopes.join(","))))
}

fn dropped() -> io::Error {
    io::Error::other("the connection is dropped, as scripted")
}
