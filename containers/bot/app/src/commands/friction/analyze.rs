//! `ars friction analyze [source]`: diagnoses a saved stream without a service or a configuration.

use std::{io::Read, process::ExitCode};

use anyhow::Context as _;
use ars_bot_core::commands::{Analysis, StreamOptions};
use ars_events::sse::Capture;

use crate::{args::Analyze, commands::Failure, terminal};

/// Standard input, as a source.
const STDIN: &str = "-";
/// Largest source in bytes. A run's stream is far smaller, so a larger file is the wrong one.
const SOURCE_MAX: u64 = 256 << 20;
/// Reads, diagnoses, prints. Without events the exit code is 1.
pub(super) async fn run(args: Analyze) -> Result<ExitCode, Failure> {
    let source = args.source.clone().unwrap_or_else(|| STDIN.to_owned());
    let from = source.clone();
    let bytes = tokio::task::spawn_blocking(move || read(&from)).await??;
    let options = StreamOptions { slow_ms: args.slow_ms, in_progress: args.in_progress };
    let analysis = Analysis::of(source, &Capture::read(&bytes), &options);
    if args.json {
        terminal::print(&format!("{}\n", serde_json::to_string(&analysis)?))?;
    } else if analysis.hint.is_none() {
        terminal::print(&analysis.text())?;
    } else {
        let Analysis { skipped, hint, .. } = analysis;
        let hint = hint.unwrap_or_default();
        return Err(Failure::Failed(format!("no events; lines skipped: {skipped}. Hint: {hint}")));
    }
    Ok(if analysis.events == 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn read(source: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = if source == STDIN {
        std::io::stdin().lock().take(SOURCE_MAX + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(source).and_then(|file| file.take(SOURCE_MAX + 1).read_to_end(&mut bytes))
    };
    let read = read.with_context(|| format!("the source {source} cannot be read"));
    if read.map_err(Failure::Unavailable)? as u64 > SOURCE_MAX {
        return Err(Failure::InvalidInput(format!(
            "source must be a run's events, at most {} MiB",
            SOURCE_MAX >> 20
        )));
    }
    Ok(bytes)
}
