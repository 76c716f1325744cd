//! Changes of messages that no model has read yet: edits by their authors, and deletions.
//!
//! The change is written to the ledger's inbox too, so that a process that resumes the run applies
//! it. Not here: messages that another process's run received, which do not change.

use ars_bot_ports::Overload;
use ars_types::ThreadKey;
use ars_wire::idempotency::IdempotencyKey;

use crate::{
    context::RunContext,
    request::directives,
    retry::Policy,
    threads::{Amendment, Mailbox, Note, Target},
};

/// What became of an amendment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amended {
    /// The message is being served: the new text is dispatched.
    Draft,
    /// A run reads the new text, or nothing.
    FollowUp,
    /// The run that it started reads the new text, or is stopped.
    Request,
    /// Nothing: it was read, was no message for a model, or another process's run has it.
    Nothing,
}

/// Where an amendment was applied.
struct Applied {
    target: Target,
    thread: ThreadKey,
    mailbox: Mailbox,
    note: Note,
}

/// Applies an amendment to the message with this key.
///
/// # Errors
/// The new text exceeds the limit of the run's unread follow-ups.
pub(crate) async fn amend(
    context: &RunContext,
    key: &IdempotencyKey,
    amendment: &Amendment,
) -> Result<Amended, Overload> {
    if is_blank(amendment) {
        return Ok(Amended::Nothing);
    }
    let drafts = context.drafts();
    let (is_draft, applied) = drafts.amend(key, amendment, || apply(context, key, amendment));
    let Some(applied) = applied? else {
        return Ok(if is_draft {
            Amended::Draft
        } else {
            Amended::Nothing
        });
    };
    settle(context, &applied, amendment).await;
    Ok(match applied.target {
        Target::Request => Amended::Request,
        Target::FollowUp => Amended::FollowUp,
    })
}

/// Applies the amendment that arrived while the message was in dispatch, now that a mailbox has it.
pub(super) async fn catch_up(context: &RunContext, key: Option<&IdempotencyKey>) {
    let Some(key) = key else { return };
    let pending = context.drafts().settle(key, |amendment| {
        let applied = apply(context, key, amendment).ok().flatten()?;
        Some((applied, amendment.clone()))
    });
    if let Some((applied, amendment)) = pending.flatten() {
        settle(context, &applied, &amendment).await;
    }
}

fn apply(
    context: &RunContext,
    key: &IdempotencyKey,
    amendment: &Amendment,
) -> Result<Option<Applied>, Overload> {
    let original = amendment.full_text();
    let text = without_directives(&original);
    let edit = match amendment {
        Amendment::Text { author, .. } => Some((author.as_str(), text.as_str())),
        Amendment::Withdrawn => None,
    };
    let note = Note::amending(key, edit, context.clock().now());
    let limits = &context.settings().load;
    for (thread, mailbox) in context.threads().mailboxes() {
        if let Some(target) = mailbox.amend(&note, &original, limits)? {
            return Ok(Some(Applied {
                target,
                thread,
                mailbox,
                note,
            }));
        }
    }
    Ok(None)
}

/// Returns whether an edit leaves no words, such as nothing but a mention. It changes nothing.
fn is_blank(amendment: &Amendment) -> bool {
    matches!(amendment, Amendment::Text { text, .. } if text.trim().is_empty())
}

/// Does the slow part: stops the run, or stores the change.
async fn settle(context: &RunContext, applied: &Applied, amendment: &Amendment) {
    let Applied {
        target,
        thread,
        mailbox,
        note,
    } = applied;
    let occupant = context.threads().occupant(thread);
    // Without an id the run is not created yet. Its start finds the change in the mailbox.
    let Some(run) = occupant.and_then(|occupant| occupant.run) else {
        return;
    };
    if (*target, amendment) == (Target::Request, &Amendment::Withdrawn) {
        return context.stop_withdrawn(&run).await;
    }
    let Some(live) = context.live() else { return };
    let message = note.message();
    let queued = Policy::STEP
        .run(&run, || live.ledger().inbox(&run, &message))
        .await;
    match queued {
        Ok(Some(seq)) => mailbox.skip(seq),
        Ok(None) => {}
        Err(error) => {
            tracing::warn!(run = %run, error = %error, "change of a message not stored in the ledger");
        }
    }
}

/// Returns a text as a live run reads it. A faulty directive is a word.
fn without_directives(text: &str) -> String {
    match directives::parse(text) {
        Ok(parsed) if !parsed.text_with_place.trim().is_empty() => parsed.text_with_place,
        _ => text.to_owned(),
    }
}
