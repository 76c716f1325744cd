//! Forwards a request: a tunnel, a request in absolute form, or a request for the run's repository.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use http_body_util::BodyExt as _;
use hyper::{
    Method, Request, StatusCode, Uri,
    body::Incoming,
    client::conn::http1,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, copy_bidirectional},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use super::{
    answer::{Answer, Problem, empty_answer, text_answer},
    connections::Permit,
    decide::{Destination, Protocol},
    dial::{Dialed, dial},
    limits::{ANSWER_TIMEOUT, IDLE_TIMEOUT},
    meter::Metered,
    route::Route,
    run::RunEgress,
};
use crate::upstream::Via;

/// Headers for a single connection, which are not forwarded.
const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// A command's connection, with everything that lasts as long.
#[derive(Clone)]
pub(super) struct Connection {
    pub(super) run: Arc<RunEgress>,
    pub(super) permit: Arc<Permit>,
    pub(super) closed: CancellationToken,
}

/// Answers a single request.
pub(super) async fn answer(connection: Connection, request: Request<Incoming>) -> Answer {
    let answered = match *request.method() {
        Method::CONNECT => tunnel(&connection, request).await,
        _ if Route::is_for(request.uri()) => routed(&connection, request).await,
        _ => plain(&connection, request).await,
    };
    answered.unwrap_or_else(|problem| match problem {
        Problem::Malformed(text) => text_answer(StatusCode::BAD_REQUEST, text),
        Problem::Unreachable(host, text) => {
            text_answer(StatusCode::BAD_GATEWAY, &format!("{host}: {text}"))
        }
        Problem::Refused(refused) => {
            let report = connection.run.refuse(&refused);
            text_answer(StatusCode::FORBIDDEN, &report.to_string())
        }
    })
}

/// Returns a request's destination if it is allowed.
fn destination(
    connection: &Connection,
    protocol: Protocol,
    target: &Uri,
    port: Option<u16>,
) -> Result<Destination, Problem> {
    const SHAPE: Problem = Problem::Malformed("the request names no host and port");
    let authority = target.authority().ok_or(SHAPE)?;
    // A user in the authority could make two readers see different hosts in the text.
    if authority.as_str().contains('@') {
        return Err(SHAPE);
    }
    let port = authority.port_u16().or(port).ok_or(SHAPE)?;
    let decided = connection.run.decide(protocol, authority.host(), port);
    decided.ok_or(SHAPE)?.map_err(Problem::Refused)
}

/// Connects to a destination. Also returns the service proxy that gets plain requests for it.
async fn reach(
    connection: &Connection,
    protocol: Protocol,
    destination: &Destination,
) -> Result<(Metered, Option<Via>), Problem> {
    let dialed = dial(
        (&*connection.run.lookup, &connection.run.upstream),
        protocol,
        destination,
    )
    .await;
    let Dialed { stream, via } = dialed.map_err(|error| error.into_problem(destination))?;
    Ok((
        Metered::new(stream, Arc::clone(&connection.run.budget)),
        via,
    ))
}

async fn tunnel(connection: &Connection, request: Request<Incoming>) -> Result<Answer, Problem> {
    let destination = destination(connection, Protocol::Tunnel, request.uri(), None)?;
    let (upstream, _) = reach(connection, Protocol::Tunnel, &destination).await?;
    let connection = connection.clone();
    tokio::spawn(async move {
        let _permit = connection.permit;
        let piped = async {
            // It fails if the client has left.
            if let Ok(client) = hyper::upgrade::on(request).await {
                pipe(TokioIo::new(client), upstream).await;
            }
        };
        let _ = connection.closed.run_until_cancelled(piped).await;
    });
    Ok(empty_answer())
}

/// Copies in both directions until the ends are closed or idle, or the run's bytes are spent.
async fn pipe(mut client: impl AsyncRead + AsyncWrite + Unpin, mut upstream: Metered) {
    let moved = upstream.moved();
    tokio::select! {
        // An error at either end closes the tunnel, as reaching the other end would.
        _ = copy_bidirectional(&mut client, &mut upstream) => {}
        () = idle(&moved) => {}
    }
}

/// Completes once a connection has moved no byte for the idle timeout.
async fn idle(moved: &AtomicU64) {
    let mut before = 0;
    loop {
        sleep(IDLE_TIMEOUT).await;
        match moved.load(Ordering::Relaxed) {
            now if now == before => return,
            now => before = now,
        }
    }
}

/// Answers a git request for the run's repository.
async fn routed(connection: &Connection, request: Request<Incoming>) -> Result<Answer, Problem> {
    const NONE: Problem = Problem::Malformed("this run has no route to a code host");
    host_header(&request)?;
    connection
        .run
        .route
        .as_ref()
        .ok_or(NONE)?
        .answer(&connection.run, request)
        .await
}

async fn plain(connection: &Connection, mut request: Request<Incoming>) -> Result<Answer, Problem> {
    if request.uri().scheme_str() != Some("http") {
        return Err(Problem::Malformed(
            "this is a proxy: requests are `CONNECT host:443` or `GET http://host/`",
        ));
    }
    let destination = destination(connection, Protocol::Plain, request.uri(), Some(80))?;
    let host = host_header(&request)?;
    remove_hop_by_hop(request.headers_mut());
    request.headers_mut().insert(header::HOST, host);
    let (upstream, via) = reach(connection, Protocol::Plain, &destination).await?;
    match via {
        Some(via) => {
            let login = via
                .authorization
                .map(|login| (header::PROXY_AUTHORIZATION, login));
            request.headers_mut().extend(login);
        }
        None => {
            let path = request
                .uri()
                .path_and_query()
                .map_or("/", |path| path.as_str());
            *request.uri_mut() = path
                .parse()
                .map_err(|_| Problem::Malformed("the path is malformed"))?;
        }
    }
    let unreachable =
        |error: hyper::Error| Problem::Unreachable(destination.host.clone(), error.to_string());
    let moved = upstream.moved();
    let (mut sender, driver) = http1::handshake(TokioIo::new(upstream))
        .await
        .map_err(unreachable)?;
    let closed = connection.closed.clone();
    tokio::spawn(async move {
        tokio::select! {
            // When it ends, the body that the client reads is closed.
            _ = closed.run_until_cancelled(driver) => {}
            () = idle(&moved) => {}
        }
    });
    let mut answer = tokio::time::timeout(ANSWER_TIMEOUT, sender.send_request(request))
        .await
        .map_err(|_| {
            Problem::Unreachable(destination.host.clone(), "it did not answer in time".into())
        })?
        .map_err(unreachable)?;
    remove_hop_by_hop(answer.headers_mut());
    Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()))
}

/// Returns the `Host` for a request in absolute form, which must name the same host as the target.
fn host_header(request: &Request<Incoming>) -> Result<HeaderValue, Problem> {
    const DIFFERS: Problem =
        Problem::Malformed("the Host header names another host than the target");
    let authority = request.uri().authority().ok_or(DIFFERS)?.as_str();
    let of_target =
        |named: &HeaderValue| named.as_bytes().eq_ignore_ascii_case(authority.as_bytes());
    if !request
        .headers()
        .get_all(header::HOST)
        .iter()
        .all(of_target)
    {
        return Err(DIFFERS);
    }
    HeaderValue::from_str(authority).map_err(|_| DIFFERS)
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}
