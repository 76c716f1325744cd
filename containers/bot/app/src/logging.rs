//! A command's log without configured telemetry: lines on standard error (docs/logging.md).

use std::sync::Arc;

use ars_bot_ports::trace;
use ars_bot_telemetry::TelemetryOptions;
use ars_events::Redactor;

use crate::environment;

pub use ars_bot_telemetry::Level;

/// Sends logs to standard error from now on.
pub fn start(redactor: Arc<Redactor>, level: Level) {
    let options = TelemetryOptions::lines(
        level,
        environment::variable("RUST_LOG"),
        env!("CARGO_PKG_VERSION"),
    );
    // Without a collector and metrics nothing can fail, and nothing has to be finished.
    if let Ok(mut telemetry) = ars_bot_telemetry::start(redactor, &options)
        && let Some(sink) = telemetry.take_span_sink()
    {
        trace::set_sink(sink);
    }
}
