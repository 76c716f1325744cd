//! The request stages in order: command, parse, resolve, authorize, admit, start.
//!
//! Each stage is a function from one struct to the next. Before the run is created, a refusal is a
//! single reply and no run. After that every outcome ends in a finished run, a reply attempt and a
//! record (`lifecycle`).

use std::sync::Arc;

use ars_bot_ports::{
    Channel, ChannelEvent, IncomingMessage, Notice, Refusal, ReplyError, ThreadRefusal, metrics,
};
use ars_events::with_attachment_count;
use ars_wire::idempotency::FirstUse;

use super::{
    admit::{Admission, admit},
    authorize::authorize,
    command,
    start::{Start, start},
    steer::Steering,
};
use crate::{
    context::{RequeueReceiver, Requeued, RunContext},
    lifecycle,
    request::{DispatchedRun, Request, parse, resolve},
};

/// Maximum attempts per request if another process owns the thread and that run ends concurrently.
const MAX_ATTEMPTS: usize = 3;

/// A request that is rejected.
struct Rejected {
    request: Request,
    refusal: Refusal,
}

/// What the stages made.
enum Dispatched {
    /// The request became a run.
    Claimed(Box<DispatchedRun>),
    /// Became a live run's follow-up.
    Steered(Notice),
    /// An earlier request used the same idempotency key.
    Repeated(FirstUse),
}

/// Serves a request to the end and replies through `io`. During a drain the request is rejected
/// before any stage, also when it would steer a live run: that run ends here, and a follow-up it
/// does not read would become a new run.
pub(crate) async fn dispatch(context: &RunContext, message: IncomingMessage, io: Arc<dyn Channel>) {
    let Some(in_flight) = context.in_flight().try_enter() else {
        io.inform(ChannelEvent::RejectedByShutdown).await;
        return log_undelivered(io.send(ChannelEvent::Refused(Refusal::ShuttingDown)).await);
    };
    let may_wait = io.traits().can_wait;
    let request = Request {
        message,
        io,
        may_wait,
        in_flight,
    };
    if let Some(recognized) = context.command_registry().recognize(&request.message.text) {
        return log_undelivered(command::serve(context, request, recognized).await);
    }
    if request.message.is_confirmed {
        return log_undelivered(command::refuse_unknown(context, request).await);
    }
    if let Err(rejected) = serve(context, request).await {
        let Rejected { request, refusal } = *rejected;
        log_undelivered(request.io.send(ChannelEvent::Refused(refusal)).await);
    }
}

/// Dispatches every unread follow-up that is queued. Ends when the last context is dropped.
pub(crate) async fn serve_requeued(mut queue: RequeueReceiver) {
    while let Some(requeued) = queue.recv().await {
        // Spawned, because a dispatch lasts as long as the run.
        tokio::spawn(dispatch_requeued(requeued));
    }
}

/// Dispatches an unread follow-up, also during a drain. It is prose even if joined follow-ups begin
/// like a command. A refusal quotes the message, because the sender expects it to run and may read
/// the refusal on the channel of the run that did not read it.
async fn dispatch_requeued(requeued: Requeued) {
    let Requeued {
        context,
        message,
        io,
        in_flight,
    } = requeued;
    // The sender has an answer already, so it always may.
    let request = Request {
        message,
        io,
        may_wait: true,
        in_flight,
    };
    if let Err(rejected) = serve(&context, request).await {
        let Rejected { request, refusal } = *rejected;
        let IncomingMessage {
            text, attachments, ..
        } = &request.message;
        let text = with_attachment_count(text, attachments.len());
        let notice = Notice::FollowUpRejected { refusal, text };
        log_undelivered(request.io.send(ChannelEvent::Notice(notice)).await);
    }
}

/// Serves a request to the end, or returns it with the refusal.
async fn serve(context: &RunContext, request: Request) -> Result<(), Box<Rejected>> {
    match run_stages(context, &request).await {
        Ok(Dispatched::Claimed(run)) => lifecycle::start(context, request, *run).await,
        Ok(Dispatched::Steered(notice)) => {
            log_undelivered(request.io.send(ChannelEvent::Notice(notice)).await);
        }
        Ok(Dispatched::Repeated(first)) => request.io.inform(ChannelEvent::Repeated(first)).await,
        Err(refusal) => {
            count(&refusal);
            let IncomingMessage {
                actor, channel_id, ..
            } = &request.message;
            tracing::info!(actor = %actor.id, channel = %channel_id, code = %refusal.error_code().as_str(), "request refused");
            return Err(Box::new(Rejected { request, refusal }));
        }
    }
    Ok(())
}

/// Runs the stages. Only admission and start are repeated.
async fn run_stages(context: &RunContext, request: &Request) -> Result<Dispatched, Refusal> {
    let mut parsed = parse(context, request).await?;
    parsed.reserve_files(context, &request.message)?;
    let resolved = resolve(context, request, &parsed)?;
    let authorized = authorize(context, request, &parsed, resolved)?;
    for _ in 0..MAX_ATTEMPTS {
        let steering = Steering::for_request(&authorized);
        let admitted = match admit(context, &authorized, &steering).await? {
            Admission::Claimed(admitted) => *admitted,
            Admission::Steered(notice) => return Ok(Dispatched::Steered(notice)),
            Admission::Repeated(first) => return Ok(Dispatched::Repeated(first)),
        };
        match start(context, &authorized, admitted).await? {
            Start::Claimed(claimed) => {
                let resolved = authorized.resolved;
                return Ok(Dispatched::Claimed(Box::new(DispatchedRun {
                    parsed,
                    resolved,
                    claimed: *claimed,
                })));
            }
            Start::Owned(holder) => {
                if let Some(notice) = steering.steer_remote(context, &holder).await? {
                    return Ok(Dispatched::Steered(notice));
                }
                // The owner's run ended between the claim and the follow-up, so the thread may be free now.
            }
            Start::Repeated(first) => return Ok(Dispatched::Repeated(first)),
        }
    }
    Err(ThreadRefusal::Busy.into())
}

/// Counts a request that a limit refuses.
pub(crate) fn count(refusal: &Refusal) {
    if let Refusal::Overloaded(overload) = refusal {
        metrics::refused(overload.setting());
    }
}

fn log_undelivered(delivered: Result<(), ReplyError>) {
    if let Err(error) = delivered {
        tracing::warn!(error = %error, "reply not delivered");
    }
}
