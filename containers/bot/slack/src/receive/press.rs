//! A pressed stop button, of a card or of the platform: stops a live run under the command's gates.
//!
//! Not here: the buttons that confirm a command (`confirm`).

use ars_auth::{Actor, policy::stamp};
use ars_bot_core::commands::{Caller, Origin};
use ars_commands::{RawInput, Surface};
use ars_events::ActorKind;
use ars_slack::{
    Ts,
    card::{STOP_ACTION, run_of_card},
    confirm::{CANCEL_ACTION, CONFIRM_ACTION, Decision},
    event::{Press, SessionStop},
    markup::to_mrkdwn,
};

use super::{confirm::confirm, serve::Outsider};
use crate::{api::ApiError, workspace::Workspace};

/// The command behind the button.
const STOP: &str = "runs.stop";

/// Who pressed a button, and where.
struct Presser {
    user: String,
    team: Option<String>,
    channel: String,
    thread: Option<Ts>,
}

/// Serves a pressed button on a card.
pub(crate) async fn press(workspace: Workspace, press: Press) {
    match press.action_id.as_str() {
        STOP_ACTION => {
            let presser = Presser {
                user: press.user,
                team: press.team,
                channel: press.channel,
                thread: press.thread_ts,
            };
            stop(&workspace, &presser, press.value).await;
        }
        CONFIRM_ACTION => confirm(&workspace, press, Decision::Confirmed).await,
        CANCEL_ACTION => confirm(&workspace, press, Decision::Cancelled).await,
        _ => {}
    }
}

/// Serves the platform's own button: stops the runs with the streams that the platform ended.
pub(crate) async fn stop_session(workspace: Workspace, session: SessionStop) {
    let runs = match streamed_runs(&workspace, &session).await {
        Ok(runs) => runs,
        Err(error) => {
            tracing::warn!(%error, "a stopped thread could not be read, so its run goes on");
            return;
        }
    };
    let presser = Presser {
        user: session.user,
        team: None,
        channel: session.channel,
        thread: Some(session.thread_ts),
    };
    for run in runs {
        stop(&workspace, &presser, run).await;
    }
}

async fn streamed_runs(
    workspace: &Workspace,
    session: &SessionStop,
) -> Result<Vec<String>, ApiError> {
    let Some(first) = session.streams.iter().min() else {
        return Ok(Vec::new());
    };
    let account = workspace.account().await?;
    let messages = workspace
        .api
        .replies_since(&session.channel, session.thread_ts, *first)
        .await?;
    let stopped = messages
        .iter()
        .filter(|message| session.streams.contains(&message.ts) && message.is_by(&account.bot));
    let runs = stopped.filter_map(|message| run_of_card(&message.blocks));
    Ok(runs.map(str::to_owned).collect())
}

/// Stops a run. Only the person who pressed the button sees a refusal.
async fn stop(workspace: &Workspace, presser: &Presser, run: String) {
    let Some(core) = workspace.core() else {
        return;
    };
    let (Ok(account), user) = tokio::join!(
        workspace.account(),
        workspace.directory.user(&workspace.api, &presser.user)
    ) else {
        return;
    };
    let outsider = Outsider {
        is_ext_shared: false,
        team: presser.team.as_ref(),
        channel: None,
        user: user.as_ref().ok(),
    };
    if outsider
        .refusal(workspace.settings.admits, account)
        .is_some()
    {
        tracing::info!("a guest's button has no effect");
        return;
    }
    let caller = Caller {
        surface: Surface::Chat,
        kind: ActorKind::Chat,
        actor: Actor::slack(&presser.user),
        origin: Some(Origin {
            visibility: stamp(&presser.channel, None),
            channel: presser.channel.clone(),
        }),
    };
    let input = RawInput::Pairs(vec![
        ("id".to_owned(), run),
        ("mode".to_owned(), "hard".to_owned()),
    ]);
    let Err(failure) = core.commands().invoke(&caller, STOP, &input).await else {
        return;
    };
    let reason = to_mrkdwn(&failure.chat_text());
    let told =
        workspace
            .api
            .post_ephemeral(&presser.channel, presser.thread, &presser.user, &reason);
    if let Err(error) = told.await {
        tracing::debug!(%error, "a refused stop was not answered");
    }
}
