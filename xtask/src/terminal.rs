//! Displays a long step: a spinner with the latest line, or occasional lines in a log.
//!
//! The spinner needs a terminal.

use std::cell::Cell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Minimum time between two log lines for a step.
const LOG_PACE: Duration = Duration::from_secs(5);
/// How often the spinner moves.
const SPIN: Duration = Duration::from_millis(120);

/// A step under way.
pub struct Step {
    title: String,
    began: Instant,
    spinner: Option<ProgressBar>,
    spoke: Cell<Instant>,
}

impl Step {
    /// Announces that a step begins.
    pub fn begin(title: &str) -> Self {
        let spinner = std::io::stderr().is_terminal().then(|| spinner(title));
        if spinner.is_none() {
            eprintln!("▸ {title}");
        }
        let now = Instant::now();
        Self {
            title: title.to_owned(),
            began: now,
            spinner,
            spoke: Cell::new(now),
        }
    }

    /// Shows the current activity.
    pub fn update(&self, line: &str) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        match &self.spinner {
            Some(spinner) => spinner.set_message(line.to_owned()),
            None if self.spoke.get().elapsed() >= LOG_PACE => {
                self.spoke.set(Instant::now());
                eprintln!("  … {line}");
            }
            None => {}
        }
    }

    /// Reports success and the outcome.
    pub fn done(self, outcome: &str) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
        let seconds = self.began.elapsed().as_secs_f64();
        let outcome = if outcome.is_empty() {
            String::new()
        } else {
            format!(": {outcome}")
        };
        eprintln!("✓ {}{outcome} ({seconds:.1} s)", self.title);
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        // After a failure only the error is shown.
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }
}

fn spinner(title: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {prefix} {wide_msg:.dim} {elapsed:>4}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    let spinner = ProgressBar::new_spinner()
        .with_style(style)
        .with_prefix(title.to_owned());
    spinner.enable_steady_tick(SPIN);
    spinner
}
