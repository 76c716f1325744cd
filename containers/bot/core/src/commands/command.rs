//! A single command: definition, types and handler.

use std::{
    future::{Future, ready},
    pin::Pin,
};

use ars_commands::{Definition, Input, Surface, schema};
use ars_types::UnixMillis;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{call::Call, error::CommandError, settle::Settled};

/// A command with typed input and output.
pub(super) trait Command {
    const DEFINITION: Definition;
    /// The validated input, in camelCase.
    type Input: DeserializeOwned + Send;
    /// The output on every surface.
    type Output: Serialize + DeserializeOwned + JsonSchema + Send;

    /// Decides about the resource that the input names, as the handler does. A caller that may not
    /// change it is not asked for a confirmation.
    fn permit(_call: Call<'_>, _input: &Self::Input) -> Result<(), CommandError> {
        Ok(())
    }

    /// Handles an authorized call.
    fn run(
        call: Call<'_>,
        input: Self::Input,
    ) -> impl Future<Output = Result<Self::Output, CommandError>> + Send;

    /// Returns the output for people.
    fn text(output: &Self::Output) -> String;

    /// Returns the output for a terminal, where it differs.
    fn terminal(output: &Self::Output) -> String {
        Self::text(output)
    }

    /// Sets the time on output read from JSON, for live run durations.
    fn set_now(_output: &mut Self::Output, _now: UnixMillis) {}

    /// Returns the second reply to a message, once the effect has settled.
    /// Polled with the first output, if the definition has `settle`.
    fn settled(
        _call: Call<'_>,
        _output: &Value,
    ) -> impl Future<Output = Result<Settled, CommandError>> + Send {
        ready(Ok(Settled::Silent))
    }

    /// Returns the second reply if the effect does not settle in time.
    fn late(_output: &Value) -> Option<String> {
        None
    }
}

/// Input for a command without arguments and options.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
pub(super) struct NoInput {}

/// Rendered command output.
#[derive(Debug, Clone)]
pub(super) struct Rendered {
    /// The JSON in a single line: the bytes that every surface sends.
    pub(super) json: String,
    /// The text, on text surfaces.
    pub(super) text: Option<String>,
}

type Handling<'a> = Pin<Box<dyn Future<Output = Result<Rendered, CommandError>> + Send + 'a>>;
type Polling<'a> = Pin<Box<dyn Future<Output = Result<Settled, CommandError>> + Send + 'a>>;

/// A command with its types erased.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) definition: &'static Definition,
    pub(super) output_schema: fn() -> Value,
    pub(super) text_of: fn(&str, UnixMillis) -> serde_json::Result<String>,
    pub(super) permit: fn(Call<'_>, Input) -> Result<(), CommandError>,
    pub(super) handle: for<'a> fn(Call<'a>, Input) -> Handling<'a>,
    pub(super) settled: for<'a> fn(Call<'a>, &'a Value) -> Polling<'a>,
    pub(super) late: fn(&Value) -> Option<String>,
}

impl Entry {
    pub(super) const fn for_command<C: Command + 'static>() -> Self {
        Self {
            definition: const { &C::DEFINITION },
            output_schema: schema::of_output::<C::Output>,
            text_of: text_of::<C>,
            permit: |call, input| C::permit(call, &typed::<C>(input)?),
            handle: |call, input| Box::pin(handle::<C>(call, input)),
            settled: |call, output| Box::pin(C::settled(call, output)),
            late: C::late,
        }
    }
}

fn typed<C: Command>(input: Input) -> Result<C::Input, CommandError> {
    input.into().map_err(|error| CommandError::internal(&error))
}

async fn handle<C: Command>(call: Call<'_>, input: Input) -> Result<Rendered, CommandError> {
    let output = C::run(call, typed::<C>(input)?).await?;
    let json = serde_json::to_string(&output).map_err(|error| CommandError::internal(&error))?;
    let text = match call.caller.surface {
        Surface::Chat => Some(C::text(&output)),
        Surface::Cli => Some(C::terminal(&output)),
        Surface::Api | Surface::Mcp => None,
    };
    Ok(Rendered { json, text })
}

fn text_of<C: Command>(json: &str, now: UnixMillis) -> serde_json::Result<String> {
    let mut output = serde_json::from_str(json)?;
    C::set_now(&mut output, now);
    Ok(C::terminal(&output))
}
