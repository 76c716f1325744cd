//! Invokes a command: visibility, authorization, validation, handler, and an audit line.

use std::panic::AssertUnwindSafe;

use ars_auth::{
    Denied, Viewer,
    policy::{Resource, decide},
};
use ars_commands::{Definition, Input, RawInput, Recognized, Registry, Target};
use futures::FutureExt as _;
use serde_json::Value;

use super::{
    Caller, Failure,
    call::Call,
    command::{Entry, Rendered},
    error::CommandError,
    help,
    settle::{self, Polled},
    table,
};
use crate::context::RunContext;

/// Maximum characters of a command id on an audit line. Anything longer is not a command's.
const AUDITED_ID_MAX: usize = 64;
/// Stands for the command on a mistyped message's audit line.
const MISTYPED: &str = "mistyped";

/// A single core's commands. Cheap to clone.
#[derive(Clone)]
pub struct Commands {
    context: RunContext,
}

/// A successful invocation's result.
#[derive(Debug, Clone, PartialEq)]
pub struct Success {
    /// The invoked command's definition.
    pub definition: &'static Definition,
    /// The output as JSON in a single line. Every surface sends these bytes.
    pub json: String,
    /// The output for people. Empty on surfaces for machines.
    pub text: String,
}

impl Commands {
    pub(crate) fn new(context: RunContext) -> Self {
        Self { context }
    }

    /// Returns this installation's commands.
    pub fn registry(&self) -> &Registry {
        self.context.command_registry()
    }

    /// Returns a command's output schema.
    pub fn output_schema(&self, id: &str) -> Option<Value> {
        table::find(id).map(|entry| (entry.output_schema)())
    }

    /// Returns a visible command if the caller may invoke it; a target in the input is not decided
    /// yet. Surfaces that read a body call this first, so that an unauthorized caller cannot send
    /// it.
    ///
    /// # Errors
    ///
    /// The command is unknown or denied.
    pub fn admit(&self, caller: &Caller, id: &str) -> Result<&'static Definition, Failure> {
        let caller = self.known(caller);
        let admitted = self
            .visible(&caller, id)
            .and_then(|entry| match entry.definition.target {
                Target::Repo(_) => Ok(entry.definition),
                Target::Command | Target::Agent(_) => {
                    authorize(&caller, entry.definition, None).map(|()| entry.definition)
                }
            });
        if let Err(failure) = &admitted {
            audit(&caller, id, Err(failure));
        }
        admitted
    }

    /// Invokes a command. Writes an audit line, for unknown commands too.
    ///
    /// # Errors
    ///
    /// The command is unknown, denied, given invalid input, or failed.
    pub async fn invoke(
        &self,
        caller: &Caller,
        id: &str,
        raw: &RawInput,
    ) -> Result<Success, Failure> {
        let caller = self.known(caller);
        let result = self.run(&caller, id, raw).await;
        audit(&caller, id, result.as_ref().map(drop));
        result
    }

    /// Returns whether the caller may invoke the message's command with this input and it leaves a run.
    /// Writes no audit line.
    pub(crate) fn leaves_run(&self, caller: &Caller, recognized: &Recognized) -> bool {
        let Recognized::Command { definition, tail } = recognized else {
            return false;
        };
        let raw = RawInput::Text(tail.clone());
        definition.leaves_run
            && self
                .accept(&self.known(caller), definition.id, &raw)
                .is_ok()
    }

    /// Returns what the requester must confirm before the message's command runs, or `None` if it
    /// needs no confirmation. Writes an audit line for a refused command only.
    ///
    /// # Errors
    ///
    /// The command would be refused: [`Self::invoke`] authorizes and validates alike.
    pub(crate) fn confirmation(
        &self,
        caller: &Caller,
        recognized: &Recognized,
    ) -> Result<Option<(&'static Definition, Input)>, Failure> {
        let Recognized::Command { definition, tail } = recognized else {
            return Ok(None);
        };
        if !definition.may_need_confirmation() {
            return Ok(None);
        }
        let caller = self.known(caller);
        let raw = RawInput::Text(tail.clone());
        let needed = self.unconfirmed(&caller, definition.id, &raw);
        if let Err(failure) = &needed {
            audit(&caller, definition.id, Err(failure));
        }
        Ok(needed?.map(|input| (*definition, input)))
    }

    /// Returns the input, if it needs a confirmation.
    fn unconfirmed(
        &self,
        caller: &Caller,
        id: &str,
        raw: &RawInput,
    ) -> Result<Option<Input>, Failure> {
        let (entry, input) = self.accept(caller, id, raw)?;
        let definition = entry.definition;
        if !definition.needs_confirmation(&input) {
            return Ok(None);
        }
        let viewer = Viewer::new(caller.actor.clone());
        let call = self.call(caller, &viewer, definition);
        (entry.permit)(call, input.clone())
            .map_err(|error| Failure::of_handler(definition, error))?;
        Ok(Some(input))
    }

    /// Answers a message that is a command.
    ///
    /// # Errors
    ///
    /// As [`Self::invoke`].
    pub async fn answer(
        &self,
        caller: &Caller,
        recognized: Recognized,
    ) -> Result<Success, Failure> {
        match recognized {
            Recognized::Command { definition, tail } => {
                self.invoke(caller, definition.id, &RawInput::Text(tail))
                    .await
            }
            Recognized::Help => self.help(caller, help::of_all),
            Recognized::Group(group) => {
                self.help(caller, |registry| help::of_group(registry, group))
            }
            Recognized::Usage(definition) => self.help(caller, |_| definition.usage()),
            Recognized::Mistyped(meant) => {
                let failure = Failure::mistyped(meant);
                audit(&self.known(caller), MISTYPED, Err(&failure));
                Err(failure)
            }
        }
    }

    /// Fails a command that the caller's surface does not have, and writes the audit line.
    pub fn unknown(&self, caller: &Caller, id: &str) -> Failure {
        let failure = self.missing(caller, id);
        audit(&self.known(caller), id, Err(&failure));
        failure
    }

    /// Fails a command that a hard stop interrupted, and writes the audit line.
    pub(crate) fn interrupted(&self, caller: &Caller, definition: &'static Definition) -> Failure {
        let failure = Failure::of_handler(definition, CommandError::stopped());
        audit(caller, definition.id, Err(&failure));
        failure
    }

    /// Returns the second reply, if present. Waits until the invocation's effect has settled, or
    /// the time is over.
    pub(crate) async fn settled(&self, caller: &Caller, success: &Success) -> Option<String> {
        let definition = success.definition;
        let (limits, entry) = (definition.settle?, table::find(definition.id)?);
        let output: Value = serde_json::from_str(&success.json).ok()?;
        let caller = self.known(caller);
        let viewer = Viewer::new(caller.actor.clone());
        let call = self.call(&caller, &viewer, definition);
        match settle::poll(limits, || (entry.settled)(call, &output)).await {
            Polled::Reply(text) => Some(text),
            Polled::Silent => None,
            Polled::Late => (entry.late)(&output),
        }
    }

    /// Answers with the help or a section from it. A message may always ask for it: it names no
    /// data.
    fn help(
        &self,
        caller: &Caller,
        text: impl Fn(&Registry) -> String,
    ) -> Result<Success, Failure> {
        let caller = self.known(caller);
        let result = self.visible(&caller, help::SHOW).map(|entry| {
            let text = text(self.registry());
            Success {
                definition: entry.definition,
                json: Value::from(text.as_str()).to_string(),
                text,
            }
        });
        audit(&caller, help::SHOW, result.as_ref().map(drop));
        result
    }

    async fn run(&self, caller: &Caller, id: &str, raw: &RawInput) -> Result<Success, Failure> {
        let (entry, input) = self.accept(caller, id, raw)?;
        let definition = entry.definition;
        let viewer = Viewer::new(caller.actor.clone());
        let call = self.call(caller, &viewer, definition);
        // A panic fails only a single invocation.
        let handled = AssertUnwindSafe((entry.handle)(call, input))
            .catch_unwind()
            .await;
        let rendered =
            handled.unwrap_or_else(|_| Err(CommandError::internal(&"the handler panicked")));
        let Rendered { json, text } =
            rendered.map_err(|error| Failure::of_handler(definition, error))?;
        Ok(Success {
            definition,
            json,
            text: text.unwrap_or_default(),
        })
    }

    fn call<'a>(
        &'a self,
        caller: &'a Caller,
        viewer: &'a Viewer,
        definition: &'static Definition,
    ) -> Call<'a> {
        Call {
            context: &self.context,
            caller,
            viewer,
            definition,
        }
    }

    /// Authorizes and validates an invocation.
    fn accept(
        &self,
        caller: &Caller,
        id: &str,
        raw: &RawInput,
    ) -> Result<(&'static Entry, Input), Failure> {
        let entry = self.visible(caller, id)?;
        let definition = entry.definition;
        authorize(caller, definition, Some(raw))?;
        let input = definition
            .validate(raw)
            .map_err(|error| Failure::invalid(definition, &error))?;
        Ok((entry, input))
    }

    /// Returns the caller as a person, with the configured grants.
    fn known(&self, caller: &Caller) -> Caller {
        let actor = self.context.settings().identify(&caller.actor);
        Caller {
            actor,
            ..caller.clone()
        }
    }

    /// Fails a command that the caller's surface does not have. Only who may call it learns what
    /// turns it on.
    fn missing(&self, caller: &Caller, id: &str) -> Failure {
        let off = self.registry().get_off(id, caller.surface);
        let off = off.filter(|definition| authorize(&self.known(caller), definition, None).is_ok());
        off.map_or_else(Failure::unknown, Failure::off)
    }

    fn visible(&self, caller: &Caller, id: &str) -> Result<&'static Entry, Failure> {
        let missing = || self.missing(caller, id);
        let definition = self
            .registry()
            .get(id, caller.surface)
            .ok_or_else(missing)?;
        table::find(definition.id).ok_or_else(Failure::unknown)
    }
}

fn authorize(
    caller: &Caller,
    definition: &'static Definition,
    raw: Option<&RawInput>,
) -> Result<(), Failure> {
    let named = |name| {
        raw.and_then(|raw| definition.peek(raw, name))
            .unwrap_or_default()
    };
    let decided = match definition.target {
        Target::Command => decide(&caller.actor, definition.action, &Resource::Command),
        Target::Agent(agent) => decide(&caller.actor, definition.action, &Resource::Agent(agent)),
        Target::Repo(name) => decide(
            &caller.actor,
            definition.action,
            &Resource::Repo(&named(name)),
        ),
    };
    decided.map_err(|denied| Failure::denied(definition, denied))
}

/// Writes the audit line. It never contains input or output.
fn audit(caller: &Caller, id: &str, result: Result<(), &Failure>) {
    let command = if is_plain(id) { id } else { "malformed" };
    let effect = table::find(id).map(|entry| entry.definition.effect.as_str());
    let (outcome, decided_by, reason) = match result {
        Ok(()) => ("ok", None, None),
        Err(failure) => (
            failure.code.as_str(),
            Some(failure.decided_by.as_str()),
            failure.denied,
        ),
    };
    tracing::info!(
        command,
        caller_kind = caller.kind.as_str(),
        caller = %caller.actor.id,
        surface = caller.surface.as_str(),
        effect,
        outcome,
        decided_by,
        reason = reason.as_ref().map(Denied::to_string),
        "command invoked"
    );
}

fn is_plain(id: &str) -> bool {
    id.len() <= AUDITED_ID_MAX && id.bytes().all(|b| b.is_ascii_lowercase() || b == b'.')
}
