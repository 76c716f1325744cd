//! Logs: JSON lines on standard error, every line cleaned of secrets before it is written (docs/logging.md).

use std::{
    io::{self, Write},
    sync::Arc,
};

use ars_events::Redactor;
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use crate::environment;

/// Never logged: it would log bodies of failed streams; the adapter reports them itself, without.
const SILENCED: &str = "genai=off";

/// What is logged when `RUST_LOG` does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// A server's log.
    Everything,
    /// Beside a person's answer: only what broke.
    Errors,
}

/// Sends logs to standard error from now on.
pub fn start(redactor: Arc<Redactor>, level: Level) {
    let default = match level {
        Level::Everything => "info",
        Level::Errors => "error",
    };
    let wanted = environment::variable("RUST_LOG").unwrap_or_else(|| default.to_owned());
    let filter = EnvFilter::try_new(format!("{wanted},{SILENCED}"))
        .unwrap_or_else(|_| EnvFilter::new(format!("{default},{SILENCED}")));
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_env_filter(filter)
        .with_writer(Redacting { redactor })
        .finish();
    // Only a second call in one process could fail, and there is none.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Collects one line and writes it cleaned.
struct Line {
    redactor: Arc<Redactor>,
    bytes: Vec<u8>,
}

struct Redacting {
    redactor: Arc<Redactor>,
}

impl<'a> MakeWriter<'a> for Redacting {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line { redactor: Arc::clone(&self.redactor), bytes: Vec::new() }
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.bytes);
        // A log that cannot be written has nowhere to be reported.
        let _ = io::stderr().lock().write_all(self.redactor.redact(&text).as_bytes());
    }
}
