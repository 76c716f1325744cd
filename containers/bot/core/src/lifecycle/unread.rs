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
    let senders = unread.into_iter().filter_map(|follow_up| follow_up.sender);
    requeue_as_one_turn(context, agent, senders.collect());
}

/// Queues these senders' messages as a single turn for this agent, in the last sender's name.
pub(crate) fn requeue_as_one_turn(context: &RunContext, agent: &str, mut senders: Vec<Sender>) {
    let texts: Vec<_> = senders
        .iter()
        .map(|sender| sender.message.text.clone())
        .filter(|text| !text.is_empty())
        .collect();
    let files = senders
        .iter_mut()
        .flat_map(|sender| std::mem::take(&mut sender.message.attachments));
    let files: Vec<_> = files.collect();
    let Some(Sender { mut message, io }) = senders.pop() else {
        return;
    };
    if !senders.is_empty() {
        // A change of one message must not replace the others.
        message.idempotency = None;
    }
    message.text = texts.join("\n\n");
    message.attachments = files;
    // A message that names another agent is never steered into a run.
    message
        .choices
        .agent
        .get_or_insert_with(|| agent.to_owned());
    context.requeue(message, io);
}
