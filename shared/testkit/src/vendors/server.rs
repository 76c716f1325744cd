//! The server for all fake vendors: script, captured requests, checks and disconnects.

use std::{
    collections::VecDeque,
    marker::PhantomData,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, DefaultBodyLimit, State},
    http::{HeaderMap, Response},
    routing::post,
};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch, task::AbortHandle};

use super::{
    body::{Departure, hold, streamed},
    reply::{Content, Pace, Reply},
};

/// Anthropic's maximum request size. Other vendors allow at least as much.
const BODY_BYTES: usize = 32 * 1024 * 1024;

/// A fake's vendor-specific part.
pub trait Vendor: Send + Sync + 'static {
    /// Path of the API route.
    const ROUTE: &'static str;

    /// Returns the rules that a request breaks. `issued` are blocks that must come back unchanged.
    fn check(headers: &HeaderMap, body: &Value, issued: &[Value]) -> Vec<String>;

    /// Returns a reply as a single JSON body, and the blocks that must come back unchanged.
    fn whole(body: &Value, reply: &Message<'_>) -> (Value, Vec<Value>);

    /// Returns an answer as server-sent events.
    fn events(body: &Value, reply: &Message<'_>) -> Vec<String>;

    /// Returns an error response's body.
    fn failure(kind: &str, message: &str) -> Value;

    /// Returns an error as an event within a stream.
    fn failure_event(kind: &str, message: &str) -> String;
}

/// A message to render.
#[derive(Debug)]
pub struct Message<'a> {
    /// The message's number, unique in the fake. Its ids derive from it.
    pub number: u64,
    /// Content in blocks.
    pub blocks: &'a [super::Block],
    /// Stop reason, if not the natural reason.
    pub stop: Option<&'a str>,
    /// Token usage to report.
    pub tokens: super::Tokens,
}

impl<'a> Message<'a> {
    /// Returns why the model refuses.
    pub(super) fn refusal(&self) -> Option<&'a str> {
        self.blocks.iter().find_map(|block| match block {
            super::Block::Refusal(reason) => Some(reason.as_str()),
            _ => None,
        })
    }
}

/// A request that was received.
#[derive(Debug, Clone)]
pub struct Captured {
    /// Remote address. Requests over the same connection share it.
    pub peer: SocketAddr,
    /// Headers of the request.
    pub headers: HeaderMap,
    /// Body as parsed JSON.
    pub body: Value,
}

impl Captured {
    /// Returns a header's text, or an empty text if it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }
}

type Answer = Box<dyn Fn(&Value) -> Option<Reply> + Send + Sync>;

struct Shared {
    answer: Answer,
    queue: Mutex<VecDeque<Reply>>,
    keep_requests: bool,
    captured: Mutex<Vec<Captured>>,
    arrived: watch::Sender<usize>,
    violations: Mutex<Vec<String>>,
    issued: Mutex<Vec<Value>>,
    left: Arc<watch::Sender<usize>>,
    number: AtomicU64,
}

/// A fake vendor on a free port, until dropped.
/// Dropping it fails the test if a request broke the vendor's rules and [`Fake::take_violations`] was not called.
pub struct Fake<V: Vendor> {
    shared: Arc<Shared>,
    address: SocketAddr,
    serving: AbortHandle,
    vendor: PhantomData<V>,
}

impl<V: Vendor> Fake<V> {
    /// Starts a fake that answers each request with the next reply from [`Fake::push`]. A request
    /// beyond the script is a violation.
    pub async fn start() -> Self {
        Self::serve(Box::new(|_| None), true).await
    }

    /// Starts a fake that computes each reply from the request.
    pub async fn answering(answer: impl Fn(&Value) -> Reply + Send + Sync + 'static) -> Self {
        Self::serve(Box::new(move |body| Some(answer(body))), true).await
    }

    /// Like [`Fake::answering`], for benchmarks: stores no requests, so memory does not grow.
    pub async fn answering_uncaptured(
        answer: impl Fn(&Value) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::serve(Box::new(move |body| Some(answer(body))), false).await
    }

    async fn serve(answer: Answer, keep_requests: bool) -> Self {
        let shared = Arc::new(Shared {
            answer,
            queue: Mutex::default(),
            keep_requests,
            captured: Mutex::default(),
            arrived: watch::Sender::default(),
            violations: Mutex::default(),
            issued: Mutex::default(),
            left: Arc::default(),
            number: AtomicU64::new(1),
        });
        let router = Router::new()
            .route(V::ROUTE, post(handle::<V>))
            .layer(DefaultBodyLimit::max(BODY_BYTES))
            .with_state(shared.clone())
            .into_make_service_with_connect_info::<SocketAddr>();
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("a free port");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let task = tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            shared,
            address,
            serving: task.abort_handle(),
            vendor: PhantomData,
        }
    }

    /// Queues replies for later requests.
    pub fn push(&self, replies: impl IntoIterator<Item = Reply>) {
        self.shared.queue.lock().unwrap().extend(replies);
    }

    /// Returns the base URL, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests so far, in arrival order.
    pub fn requests(&self) -> Vec<Captured> {
        self.shared.captured.lock().unwrap().clone()
    }

    /// Returns the number of requests so far.
    pub fn request_count(&self) -> usize {
        *self.shared.arrived.borrow()
    }

    /// Waits until this many requests have arrived.
    pub async fn wait_for_requests(&self, count: usize) {
        let mut arrived = self.shared.arrived.subscribe();
        arrived
            .wait_for(|now| *now >= count)
            .await
            .expect("the fake outlives its waiters");
    }

    /// Waits until this many clients have disconnected before their answer was complete.
    pub async fn wait_for_disconnects(&self, count: usize) {
        let mut left = self.shared.left.subscribe();
        left.wait_for(|now| *now >= count)
            .await
            .expect("the fake outlives its waiters");
    }

    /// Returns the rules broken so far and clears them.
    pub fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.violations.lock().unwrap())
    }

    /// Fails the test if a request broke the vendor's rules.
    pub fn assert_clean(&self) {
        let broken = self.take_violations();
        assert!(
            broken.is_empty(),
            "requests broke the vendor's rules: {broken:#?}"
        );
    }
}

impl<V: Vendor> Drop for Fake<V> {
    fn drop(&mut self) {
        self.serving.abort();
        if !std::thread::panicking() {
            self.assert_clean();
        }
    }
}

async fn handle<V: Vendor>(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    text: Bytes,
) -> Response<Body> {
    let Ok(body) = serde_json::from_slice::<Value>(&text) else {
        shared
            .violations
            .lock()
            .unwrap()
            .push("the body is not JSON".into());
        return json_response(400, &V::failure("invalid_request_error", "invalid JSON"));
    };
    let broken = V::check(&headers, &body, &shared.issued.lock().unwrap());
    if shared.keep_requests {
        shared.captured.lock().unwrap().push(Captured {
            peer,
            headers,
            body: body.clone(),
        });
    }
    shared.arrived.send_modify(|count| *count += 1);
    if !broken.is_empty() {
        let message = broken.join("; ");
        shared.violations.lock().unwrap().extend(broken);
        return json_response(400, &V::failure("invalid_request_error", &message));
    }
    let queued = shared.queue.lock().unwrap().pop_front();
    let Some(reply) = queued.or_else(|| (shared.answer)(&body)) else {
        shared
            .violations
            .lock()
            .unwrap()
            .push("no reply is scripted for this request".into());
        return json_response(500, &V::failure("api_error", "no reply is scripted"));
    };
    render::<V>(&shared, &body, reply).await
}

async fn render<V: Vendor>(shared: &Shared, body: &Value, reply: Reply) -> Response<Body> {
    let mut departure = Departure::watch(&shared.left);
    let streaming = body["stream"] == json!(true);
    match reply.content {
        Content::Failure {
            status,
            kind,
            message,
            headers,
        } => {
            departure.served();
            let mut response = json_response(status, &V::failure(&kind, &message));
            for (name, value) in headers {
                let name: axum::http::HeaderName = name.parse().expect("a scripted header name");
                response
                    .headers_mut()
                    .insert(name, value.parse().expect("a scripted header value"));
            }
            response
        }
        Content::Message { .. } if reply.pace == Pace::Silent => match hold(departure).await {},
        Content::Message {
            blocks,
            stop,
            tokens,
        } => {
            let number = shared.number.fetch_add(1, Ordering::Relaxed);
            let message = Message {
                number,
                blocks: &blocks,
                stop: stop.as_deref(),
                tokens,
            };
            let (whole, issued) = V::whole(body, &message);
            shared.issued.lock().unwrap().extend(issued);
            if !streaming {
                departure.served();
                return json_response(200, &whole);
            }
            departure.on_sent(reply.sent);
            let body = streamed(
                V::events(body, &message),
                reply.pace,
                V::failure_event,
                departure,
            );
            Response::builder()
                .header("content-type", "text/event-stream")
                .body(body)
                .expect("fixed parts")
        }
    }
}

fn json_response(status: u16, body: &Value) -> Response<Body> {
    Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .header("request-id", "req_fake")
        .body(Body::from(body.to_string()))
        .expect("fixed parts")
}
