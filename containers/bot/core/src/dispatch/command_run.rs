//! Records a message command as a run (docs/reference/ingress.md#commands).
//!
//! It has input, answer and receipt, and a record in the history. It has no model, no thread claim,
//! no ledger row and no tombstone, because it ends with the answer and no process resumes it.

use ars_bot_ports::{ChannelEvent, IncomingMessage, Refusal, ReplyError, trace};
use ars_events::EventBody;
use ars_types::RunStatus;

use super::{
    command::{CommandAnswer, Invocation},
    start::label,
};
use crate::{
    attachments::attached,
    context::RunContext,
    history::{self, FinalRecord, Provisional, RunTotals},
    limits::InFlight,
    registry::{RunFacts, RunHandle},
    request::Request,
    run::{SpanResult, Spans},
};

/// The agent name in a command's run.
const AGENT: &str = "command";

/// Creates the run, invokes the command, replies, and records the run.
pub(super) async fn serve(
    context: &RunContext,
    request: Request,
    invocation: Invocation,
) -> Result<(), ReplyError> {
    let Request {
        message,
        io,
        in_flight,
        ..
    } = request;
    let id = context.registry().mint();
    let run = match context.registry().create(id, facts(context, &message)) {
        Ok(run) => run,
        Err(error) => {
            tracing::error!(error = %error, "no randomness for a run's token");
            return io.send(ChannelEvent::Refused(Refusal::NotStarted)).await;
        }
    };
    let spans = Spans::default();
    let root = spans.start(&run, None, "request", message.received_at);
    // A command reads no files, so the event is all that names them.
    let files = attached(&message.attachments);
    run.publish(EventBody::input(&message.text, files, message.source));
    run.publish(run_meta(&run));
    io.inform(ChannelEvent::RunStarted(run.id().clone())).await;

    let (answer, status) = ended(&run, &invocation).await;
    run.publish(EventBody::answer(answer.text.clone()));
    run.set_cost(Some(0));
    run.finish(status);
    io.inform(ChannelEvent::CommandAnswered {
        failure: answer.failure,
    })
    .await;
    io.inform(ChannelEvent::RunFinished {
        run: run.id().clone(),
        status,
    })
    .await;
    let error = answer.failure.map(|_| AGENT.to_owned());
    let replied = invocation.reply(&io, answer).await;
    spans.end(
        &run,
        root,
        SpanResult::from_error(error),
        context.clock().now(),
    );
    run.seal(Some(replied.is_ok()));
    let status = if replied.is_ok() {
        status
    } else {
        RunStatus::Failed
    };
    tokio::spawn(record(context.clone(), run, status, in_flight));
    replied
}

/// Invokes the command. A hard stop drops the handler.
async fn ended(run: &RunHandle, invocation: &Invocation) -> (CommandAnswer, RunStatus) {
    let hard = run.stops().hard;
    let stopped = async {
        hard.cancelled().await;
        invocation.interrupted()
    };
    tokio::select! {
        // If both are ready, the command ended first.
        biased;
        answer = invocation.answer() => {
            let status = match answer.failure {
                None => RunStatus::Completed,
                Some(_) => RunStatus::Failed,
            };
            (answer, status)
        }
        Some(answer) = stopped => (answer, RunStatus::StoppedHard),
    }
}

/// Writes the record while the requester has the answer already.
async fn record(context: RunContext, run: RunHandle, status: RunStatus, in_flight: InFlight) {
    let view = run.view();
    let finished_at = view.finished.map_or(view.started_at, |(at, _)| at);
    let totals = RunTotals {
        status,
        finished_at,
        steps: Some(0),
        cost: Some(0),
    };
    let record = history::record(&view, totals);
    let due = FinalRecord {
        run: &run,
        record: &record,
        live: None,
        flush_first: None,
    };
    // A loss is logged and counted there.
    let _ = context
        .history()
        .finish(&Provisional::settled(), &due)
        .await;
    drop(in_flight);
}

fn run_meta(run: &RunHandle) -> EventBody {
    EventBody::RunMeta {
        agent: AGENT.to_owned(),
        model: None,
        effort: None,
        trace_id: Some(trace::trace_id(run.id())),
        repo: None,
        git_ref: None,
        head_sha: None,
        pr: None,
        sandbox: None,
        sandbox_skipped: None,
        network: None,
        cgroup: None,
        tree: None,
    }
}

fn facts(context: &RunContext, message: &IncomingMessage) -> RunFacts {
    RunFacts {
        label: label(context, AGENT, None, message, &message.text),
        agent: AGENT.to_owned(),
        model: None,
        channel_id: message.channel_id.clone(),
        user_id: message.actor.id.clone(),
        thread_key: message.thread_key.clone(),
        visibility: message.visibility,
        repo: None,
        received_at: message.received_at,
    }
}
