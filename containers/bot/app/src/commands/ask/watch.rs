//! The run's events while it runs: steps on standard error, or JSON lines on standard output.

use std::io::IsTerminal as _;

use ars_bot_core::{Core, registry::Frame};
use ars_types::RunId;
use tokio::sync::oneshot;

use crate::{
    args::Format,
    environment,
    terminal::{Steps, Style, print, tell},
};

/// Prints each event until the run ends.
pub async fn show(core: Core, started: oneshot::Receiver<RunId>, format: Format) {
    // Without a run the rejection is printed instead.
    let Ok(id) = started.await else { return };
    let style = Style::choose(
        std::io::stderr().is_terminal(),
        environment::raw("NO_COLOR").is_some(),
    );
    let steps = Steps::new(style);
    let Some(run) = core.registry().get(&id) else {
        return;
    };
    let Some(mut viewer) = core.registry().subscribe(&id, &run.token, 0) else {
        return;
    };
    while let Some(frames) = viewer.next().await {
        for frame in frames {
            let Frame::Event { json, .. } = frame else {
                continue;
            };
            if format == Format::JsonLines {
                // A full disk must not end the run.
                drop(print(&format!("{json}\n")));
            } else if let Some(lines) = serde_json::from_str(&json)
                .ok()
                .and_then(|event| steps.lines(&event))
            {
                tell(&lines);
            }
        }
    }
}
