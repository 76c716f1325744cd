//! Cards of runs that ended with their process and are not continued.

use std::time::Duration;

use ars_slack::{
    Ts,
    card::{interrupt, is_live, is_stream, run_of_card},
    event::Message,
};

use tokio::time::sleep;

use super::missed::ReadThread;
use crate::{
    api::{ApiError, Urgency},
    workspace::Workspace,
};

/// Time in which a living process changes a card several times.
const CARD_SILENCE: Duration = Duration::from_secs(30);
/// How long closing such a card waits for its turn.
const CLOSE_WAIT: Duration = Duration::from_secs(60);

/// A card that may have no run any more.
struct Suspect {
    channel: String,
    thread: Ts,
    card: Message,
}

/// Shows on such cards that the run was interrupted, once they have not changed for a while: a
/// living process changes its cards all the time, whatever the ledger has.
pub(super) fn close(workspace: &Workspace, threads: Vec<ReadThread>) {
    let suspects = threads.into_iter().flat_map(|thread| {
        let ReadThread { channel, messages } = thread;
        let cards = messages
            .into_iter()
            .filter(|message| is_live(&message.blocks));
        cards.map(move |card| Suspect {
            channel: channel.clone(),
            thread: card.thread(),
            card,
        })
    });
    let suspects: Vec<Suspect> = suspects.collect();
    let workspace = workspace.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = workspace.draining.cancelled() => {}
            () = close_all(&workspace, suspects) => {}
        }
    });
}

async fn close_all(workspace: &Workspace, suspects: Vec<Suspect>) {
    let Ok(account) = workspace.account().await else {
        return;
    };
    let own = suspects
        .into_iter()
        .filter(|suspect| suspect.card.is_by(&account.bot));
    let suspects = abandoned(workspace, own.collect()).await;
    if suspects.is_empty() {
        return;
    }
    sleep(CARD_SILENCE).await;
    // A run that is reclaimed after this changes its card before the card is read again.
    for suspect in abandoned(workspace, suspects).await {
        if let Err(error) = close_one(workspace, &suspect).await {
            tracing::info!(%error, "the card of an interrupted run was not closed");
        }
    }
}

/// Returns the cards of runs that no process drives or will reclaim: none without an answer of the
/// ledger.
async fn abandoned(workspace: &Workspace, mut suspects: Vec<Suspect>) -> Vec<Suspect> {
    let (false, Some(core)) = (suspects.is_empty(), workspace.core()) else {
        return Vec::new();
    };
    let Ok(live) = core.live_runs().await else {
        return Vec::new();
    };
    suspects.retain(|suspect| {
        let run = run_of_card(&suspect.card.blocks);
        run.is_some_and(|run| {
            let is_live = live.iter().any(|one| one.as_str() == run);
            !is_live && !workspace.cards.owns(run)
        })
    });
    suspects
}

async fn close_one(workspace: &Workspace, suspect: &Suspect) -> Result<(), ApiError> {
    let Suspect {
        channel,
        thread,
        card,
    } = suspect;
    let api = &workspace.api;
    let now = api.replies_since(channel, *thread, card.ts).await?;
    // A stream that grows is not edited.
    let is_unchanged = |one: &&Message| {
        one.ts == card.ts && one.edited == card.edited && one.blocks == card.blocks
    };
    let unchanged = now.iter().find(is_unchanged);
    let Some(frame) = unchanged.and_then(|card| interrupt(&card.blocks)) else {
        return Ok(());
    };
    let (place, urgency) = ((channel.as_str(), card.ts), Urgency::Waits(CLOSE_WAIT));
    if is_stream(&card.blocks) {
        match api.stop_stream(place, &[], None, urgency).await {
            // The platform may have ended it.
            Ok(()) | Err(ApiError::Refused { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    api.update(place, &frame.text, &frame.blocks, urgency).await
}
