//! The first stage, command: a message that begins with a command is answered without history, thread and model
//! (docs/reference/ingress.md#commands).
//!
//! Not here: the recognition of commands (`ars_commands`), and the run that some commands leave (`command_run`).

use ars_bot_ports::ReplyError;
use ars_commands::Recognized;

use super::{command_run, request::Request};
use crate::{
    commands::{Caller, Commands},
    context::RunContext,
};

/// A command in a message.
pub(super) struct Invocation {
    pub(super) commands: Commands,
    pub(super) caller: Caller,
    pub(super) recognized: Recognized,
}

/// The answer of a command.
pub(super) struct CommandAnswer {
    /// The text without known secrets.
    pub(super) text: String,
    /// The command succeeded.
    pub(super) is_ok: bool,
}

/// Answers a command.
pub(super) async fn serve(
    context: &RunContext,
    request: Request,
    recognized: Recognized,
) -> Result<(), ReplyError> {
    let invocation = Invocation {
        commands: Commands::new(context.clone()),
        caller: Caller::chat(&request.message),
        recognized,
    };
    if invocation.commands.leaves_run(&invocation.caller, &invocation.recognized) {
        return command_run::serve(context, request, invocation).await;
    }
    let answer = invocation.answer(context).await;
    request.io.command_answered(answer.is_ok);
    request.io.reply(&answer.text).await
}

impl Invocation {
    /// Invokes the command.
    pub(super) async fn answer(self, context: &RunContext) -> CommandAnswer {
        let answered = self.commands.answer(&self.caller, self.recognized).await;
        let is_ok = answered.is_ok();
        let text = answered.map_or_else(|failure| failure.chat_text(), |success| success.text);
        CommandAnswer { text: context.deps().redactor.hide_known(&text).into_owned(), is_ok }
    }
}
