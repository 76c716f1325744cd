//! Requests with an `Idempotency-Key` (docs/reference/ingress.md#idempotency). The first request is
//! dispatched, and a repeated request gets the first's answer.

use std::sync::Arc;

use ars_bot_core::queries::{Outcome, OutcomeError};
use ars_bot_ports::{Channel as _, ChannelEvent, IncomingMessage, texts};
use ars_types::{RunId, ThreadKey};
use ars_wire::{
    idempotency::{FirstUse, HEADER, IdempotencyKey, is_idempotency_key},
    ingress::{Receipt, Reply},
};
use aws_lc_rs::digest;
use axum::{
    http::{HeaderMap, StatusCode},
    response::Response,
};
use tokio::sync::watch;

use super::{
    channel::HttpChannel,
    error::IngressError,
    first_requests::{Admitted, FirstRequests, Progress},
    post::{accepted, answered},
};
use crate::{respond, state::HttpState};

/// Returns a request's key, if present.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<String>, IngressError> {
    let mut values = headers.get_all(HEADER).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let text = value
        .to_str()
        .ok()
        .filter(|text| values.next().is_none() && is_idempotency_key(text));
    let text = text.ok_or_else(|| {
        IngressError::BadBody(
            "Idempotency-Key must be one value of 1 to 255 visible ASCII characters".into(),
        )
    })?;
    Ok(Some(text.to_owned()))
}

/// Returns the key with its request's fingerprint: thread and body. The thread has the effective
/// channel, so the same subject's two tokens with different channels never get each other's
/// answers.
pub(super) fn of_request(
    key: String,
    subject: &str,
    thread: &ThreadKey,
    body: &[u8],
) -> IdempotencyKey {
    let thread = thread.as_str().as_bytes();
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(&thread.len().to_be_bytes());
    context.update(thread);
    context.update(body);
    IdempotencyKey {
        subject: subject.to_owned(),
        key,
        fingerprint: hex::encode(context.finish()),
    }
}

/// A request with a key, to be answered.
struct Keyed<'s> {
    state: &'s HttpState,
    key: IdempotencyKey,
    thread: ThreadKey,
    is_async: bool,
}

/// Serves a request with a key.
pub(super) async fn serve(
    state: &HttpState,
    first: &Arc<FirstRequests>,
    key: IdempotencyKey,
    message: IncomingMessage,
    io: Arc<HttpChannel>,
    is_async: bool,
) -> Result<Response, IngressError> {
    let keyed = Keyed {
        state,
        key: key.clone(),
        thread: message.thread_key.clone(),
        is_async,
    };
    match first.admit(&key, &io, state.core.clock().now()) {
        Admitted::First(reservation) => {
            let progress = reservation.watch();
            let (core, first) = (state.core.clone(), Arc::clone(&io));
            // In a separate task, so that the run and key do not depend on the caller's connection.
            tokio::spawn(async move {
                match core.queries().first_use(&key).await {
                    Err(_) => return reservation.end_unchecked(),
                    Ok(Some(earlier)) => drop(first.send(ChannelEvent::Repeated(earlier)).await),
                    Ok(None) => {
                        let message = IncomingMessage {
                            idempotency: Some(key),
                            ..message
                        };
                        core.dispatch(message, Arc::<HttpChannel>::clone(&first))
                            .await;
                    }
                }
                reservation.end(&first);
            });
            keyed.follow(&io, progress).await
        }
        Admitted::InFlight(first, progress) => keyed.follow(&first, progress).await,
        Admitted::Answered(reply) => Ok(keyed.answer(&reply)),
        Admitted::Evicted => match state.core.queries().first_use(&key).await {
            Err(_) => Err(IngressError::Unavailable),
            Ok(Some(earlier)) => keyed.repeat(earlier).await,
            Ok(None) => Err(IngressError::AnswerGone),
        },
        Admitted::AnotherBody => Err(IngressError::KeyReused),
    }
}

impl Keyed<'_> {
    /// Answers when this process's first request does.
    async fn follow(
        &self,
        first: &HttpChannel,
        mut progress: watch::Receiver<Progress>,
    ) -> Result<Response, IngressError> {
        let ended = progress.wait_for(|progress| *progress != Progress::Dispatching);
        let ended = if self.is_async {
            tokio::select! {
                // If both are ready, the run was created first.
                biased;
                run = first.started() => return Ok(self.accepted(run)),
                ended = ended => ended.map(|progress| *progress),
            }
        } else {
            ended.await.map(|progress| *progress)
        };
        match ended {
            Ok(Progress::Unchecked) => Err(IngressError::Unavailable),
            Ok(Progress::Dispatching | Progress::Ended) => match first.repeated() {
                Some(earlier) => self.repeat(earlier).await,
                None => answered(first),
            },
            Err(_dropped) => {
                tracing::error!("dispatch of a request with an idempotency key panicked");
                Err(IngressError::Internal)
            }
        }
    }

    /// Answers from an earlier request's run.
    async fn repeat(&self, earlier: FirstUse) -> Result<Response, IngressError> {
        if earlier.fingerprint != self.key.fingerprint {
            return Err(IngressError::KeyReused);
        }
        let id = earlier.run_id;
        if self.is_async {
            return Ok(self.accepted(id));
        }
        match self.state.core.queries().outcome(&id).await {
            Ok(Outcome { status, answer }) => {
                let page = || texts::run_without_answer(&self.state.core.settings().run_url(&id));
                let reply = answer.unwrap_or_else(page);
                Ok(self.answer(&Reply {
                    reply,
                    run: Some(Receipt { id, status }),
                    ..Reply::default()
                }))
            }
            Err(OutcomeError::Gone) => Err(IngressError::AnswerGone),
            Err(OutcomeError::ShuttingDown) => Err(IngressError::Draining),
            Err(OutcomeError::Unavailable) => Err(IngressError::Unavailable),
        }
    }

    fn answer(&self, reply: &Reply) -> Response {
        let run = reply
            .run
            .as_ref()
            .map(|run| run.id.clone())
            .filter(|_| self.is_async);
        match run {
            Some(run) => self.accepted(run),
            None => respond::json(StatusCode::OK, reply),
        }
    }

    fn accepted(&self, run: RunId) -> Response {
        accepted(self.state, run, &self.thread)
    }
}
