//! A run in this process, with everything needed to end it.

use std::sync::Arc;

use ars_bot_ports::{Channel, ChannelEvent};

use crate::{
    context::RunContext,
    history::Provisional,
    limits::InFlight,
    live::LedgerClaim,
    registry::RunHandle,
    run::{OpenSpan, Span, Spans},
    threads::Claim,
};

/// A run that is driven in this process.
pub(crate) struct ActiveRun {
    pub(crate) run: RunHandle,
    pub(crate) spans: Spans,
    /// The whole request's span.
    pub(crate) request: Span,
    pub(crate) thread: Claim,
    pub(crate) claim: LedgerClaim,
    pub(crate) provisional: Provisional,
    pub(crate) io: Arc<dyn Channel>,
    pub(crate) in_flight: InFlight,
}

impl ActiveRun {
    /// Opens a span under the request.
    pub(crate) fn stage<'a>(&'a self, context: &'a RunContext, name: &'static str) -> OpenSpan<'a> {
        self.part(context, self.request.id(), name)
    }

    /// Informs the channel that this process continues the run.
    pub(super) async fn continued(&self) {
        let run = self.run.id().clone();
        self.io.inform(ChannelEvent::RunContinued(run)).await;
    }

    /// Opens a span under another span.
    pub(super) fn part<'a>(
        &'a self,
        context: &'a RunContext,
        parent: &str,
        name: &'static str,
    ) -> OpenSpan<'a> {
        self.spans
            .open(&self.run, Some(parent), name, context.clock())
    }
}
