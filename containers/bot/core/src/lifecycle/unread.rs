//! Sends unread follow-ups back to dispatch: a run's or claim's become a single turn.

use crate::{
    context::RunContext,
    threads::{Claim, Closed, Sender},
};

/// Releases a thread without a run. Follow-ups that the claim received become a turn.
pub(crate) fn release(context: &RunContext, claim: Claim) {
    let agent = claim.agent();
    let unread = claim.mailbox().close(Closed::Ended);
    drop(claim);
    requeue_as_one_turn(
        context,
        agent,
        unread.into_iter().filter_map(|follow_up| follow_up.sender),
    );
}

/// Queues these senders' messages as a single turn for this agent, in the last sender's name.
pub(crate) fn requeue_as_one_turn(
    context: &RunContext,
    agent: &str,
    senders: impl Iterator<Item = Sender>,
) {
    let mut senders: Vec<_> = senders.collect();
    let texts: Vec<_> = senders
        .iter()
        .map(|sender| sender.message.text.clone())
        .collect();
    let Some(Sender { mut message, io }) = senders.pop() else {
        return;
    };
    message.text = texts.join("\n\n");
    // A message that names another agent is never steered into a run.
    message
        .choices
        .agent
        .get_or_insert_with(|| agent.to_owned());
    context.requeue(message, io);
}
