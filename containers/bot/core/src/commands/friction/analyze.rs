//! `friction.analyze`: diagnoses a saved event stream, on the command line.

use ars_bot_ports::SourceError;
use ars_commands::{Definition, Field, Kind, Surfaces};
use ars_events::sse::Capture;
use serde::Deserialize;

use super::{
    super::{call::Call, command::Command, error::CommandError},
    analysis::{Analysis, StreamOptions},
};

/// Standard input as a source.
const STDIN: &str = "-";
/// Maximum source length in characters.
const SOURCE_MAX: usize = 4_096;

pub(in super::super) struct Analyze;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Input {
    source: Option<String>,
    slow_ms: Option<f64>,
    #[serde(default)]
    in_progress: bool,
}

impl Command for Analyze {
    const DEFINITION: Definition = Definition::read(
        "friction.analyze",
        "friction:read",
        "Diagnoses a saved event stream: JSON lines, or a raw capture.",
    )
    .with_args(&[Field::optional(
        "source",
        Kind::Text {
            min: 1,
            max: SOURCE_MAX,
        },
        "the file; `-`, like no file, is standard input",
    )])
    .with_options(&[
        Field::optional(
            "slowMs",
            Kind::Duration,
            "milliseconds from which a tool is slow",
        ),
        Field::optional(
            "inProgress",
            Kind::Boolean,
            "the run continues: an open call is not a failure",
        ),
    ])
    .on(Surfaces::CLI);
    type Input = Input;
    type Output = Analysis;

    async fn run(call: Call<'_>, input: Input) -> Result<Analysis, CommandError> {
        let sources = call.context.deps().capabilities.commands.sources.as_ref();
        let sources =
            sources.ok_or_else(|| CommandError::unavailable("this surface reads no files"))?;
        let source = input.source.clone().unwrap_or_else(|| STDIN.to_owned());
        let bytes = sources.read(&source).await.map_err(|error| match error {
            SourceError::Unreadable(_) => CommandError::unavailable(error.to_string()),
            SourceError::TooLarge { .. } => CommandError::invalid(error.to_string()),
        })?;
        let options = StreamOptions {
            // Above the range the cast saturates, and then nothing is slow.
            slow_ms: input.slow_ms.map(|ms| ms.round() as i64),
            in_progress: input.in_progress,
        };
        Ok(Analysis::new(source, &Capture::read(&bytes), &options))
    }

    fn text(analysis: &Analysis) -> String {
        analysis.text()
    }
}
