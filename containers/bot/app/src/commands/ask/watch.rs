//! The run's steps on standard error while it runs.

use std::io::IsTerminal as _;

use ars_bot_core::{Core, registry::Frame};
use ars_types::RunId;
use tokio::sync::oneshot;

use crate::{
    environment,
    terminal::{Steps, Style, tell},
};

/// Prints each step until the run ends.
pub async fn show_steps(core: Core, started: oneshot::Receiver<RunId>) {
    // Without a run the rejection is printed instead.
    let Ok(id) = started.await else { return };
    let style = Style::choose(std::io::stderr().is_terminal(), environment::raw("NO_COLOR").is_some());
    let steps = Steps::new(style);
    let Some(run) = core.registry().get(&id) else { return };
    let Some(mut viewer) = core.registry().subscribe(&id, &run.token, 0) else { return };
    while let Some(frames) = viewer.next().await {
        for frame in frames {
            if let Frame::Event { json, .. } = frame
                && let Some(lines) = serde_json::from_str(&json).ok().and_then(|event| steps.lines(&event))
            {
                tell(&lines);
            }
        }
    }
}
