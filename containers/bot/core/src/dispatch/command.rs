//! The first stage, command (docs/reference/ingress.md#commands).
//!
//! A message that begins with a command is answered without history, thread and model. Not here:
//! recognizing commands (`ars_commands`), and the run that some commands leave (`command_run`).

use std::sync::Arc;

use ars_bot_ports::{Channel, ChannelEvent, Confirmation, IncomingMessage, ReplyError, TextFile};
use ars_commands::Recognized;
use ars_wire::ErrorCode;

use super::command_run;
use crate::{
    commands::{Caller, Commands, Failure, Success},
    context::RunContext,
    request::Request,
};

/// Maximum characters in a message answer. A longer answer becomes a file, where the channel has
/// files.
const REPLY_MAX_CHARS: usize = 3_000;
/// Name for that file.
const FILE_NAME: &str = "answer.txt";

/// Stands for a confirmed text without a command on the audit line.
const UNRECOGNIZED: &str = "unrecognized";

/// A command in a message.
#[derive(Clone)]
pub(super) struct Invocation {
    context: RunContext,
    commands: Commands,
    caller: Caller,
    recognized: Recognized,
}

/// A command's answer.
pub(super) struct CommandAnswer {
    /// The text without known secrets.
    pub(super) text: String,
    /// The failure code, if the command failed.
    pub(super) failure: Option<ErrorCode>,
    /// The result, if a second reply follows.
    unsettled: Option<Success>,
}

/// Answers a command on the channel.
pub(super) async fn serve(
    context: &RunContext,
    request: Request,
    recognized: Recognized,
) -> Result<(), ReplyError> {
    let invocation = Invocation {
        context: context.clone(),
        commands: Commands::new(context.clone()),
        caller: Caller::chat(&request.message),
        recognized,
    };
    if request.io.traits().can_confirm && !request.message.is_confirmed {
        match invocation.confirmation(&request.message) {
            Ok(None) => {}
            Ok(Some(confirmation)) => {
                return request.io.send(ChannelEvent::Confirm(confirmation)).await;
            }
            Err(failure) => {
                let answer = invocation.rendered(Err(failure));
                return invocation.answer_on(&request.io, answer).await;
            }
        }
    }
    if invocation
        .commands
        .leaves_run(&invocation.caller, &invocation.recognized)
    {
        return command_run::serve(context, request, invocation).await;
    }
    let answer = invocation.answer().await;
    invocation.answer_on(&request.io, answer).await
}

/// Answers a confirmed message that is no command any more, which must not become a run.
pub(super) async fn refuse_unknown(
    context: &RunContext,
    request: Request,
) -> Result<(), ReplyError> {
    let caller = Caller::chat(&request.message);
    let failure = Commands::new(context.clone()).unknown(&caller, UNRECOGNIZED);
    let reply = ChannelEvent::Reply(failure.chat_text());
    request.io.send(reply).await
}

impl Invocation {
    pub(super) async fn answer(&self) -> CommandAnswer {
        self.rendered(
            self.commands
                .answer(&self.caller, self.recognized.clone())
                .await,
        )
    }

    /// Returns what the requester confirms before the command runs, or `None` if nothing is to be
    /// confirmed.
    fn confirmation(&self, message: &IncomingMessage) -> Result<Option<Confirmation>, Failure> {
        let needed = self.commands.confirmation(&self.caller, &self.recognized)?;
        Ok(needed.map(|(definition, input)| Confirmation {
            user: message.actor.id.clone(),
            text: message.text.trim().to_owned(),
            command: self.without_secrets(&definition.with_input(&input)),
            about: definition.about,
        }))
    }

    /// Returns the answer for a command that a hard stop interrupted.
    pub(super) fn interrupted(&self) -> Option<CommandAnswer> {
        let Recognized::Command { definition, .. } = &self.recognized else {
            return None;
        };
        Some(self.rendered(Err(self.commands.interrupted(&self.caller, definition))))
    }

    fn rendered(&self, answered: Result<Success, Failure>) -> CommandAnswer {
        let text = match &answered {
            Ok(success) => success.text.clone(),
            Err(failure) => failure.chat_text(),
        };
        let text = self.without_secrets(&text);
        let failure = answered.as_ref().err().map(|failure| failure.code);
        CommandAnswer {
            text,
            failure,
            unsettled: answered
                .ok()
                .filter(|success| success.definition.settle.is_some()),
        }
    }

    /// Answers a command that leaves no run.
    async fn answer_on(
        self,
        io: &Arc<dyn Channel>,
        answer: CommandAnswer,
    ) -> Result<(), ReplyError> {
        io.inform(ChannelEvent::CommandAnswered {
            failure: answer.failure,
        })
        .await;
        self.reply(io, answer).await
    }

    /// Sends the answer. If a second reply follows, it is sent later, and lost if the process ends before.
    pub(super) async fn reply(
        self,
        io: &Arc<dyn Channel>,
        answer: CommandAnswer,
    ) -> Result<(), ReplyError> {
        let replied = io.send(event_of(answer.text)).await;
        if let Some(success) = answer.unsettled {
            let io = Arc::clone(io);
            tokio::spawn(async move {
                let Some(text) = self.commands.settled(&self.caller, &success).await else {
                    return;
                };
                if let Err(error) = io.send(event_of(self.without_secrets(&text))).await {
                    tracing::warn!(error = %error, "second reply not delivered");
                }
            });
        }
        replied
    }

    fn without_secrets(&self, text: &str) -> String {
        self.context.deps().redactor.hide_known(text).into_owned()
    }
}

/// Returns the answer with this text; a long text is a file below its first line.
fn event_of(text: String) -> ChannelEvent {
    if text.chars().count() <= REPLY_MAX_CHARS {
        return ChannelEvent::Reply(text);
    }
    let message = text.lines().next().unwrap_or_default().to_owned();
    ChannelEvent::File {
        message,
        file: TextFile {
            name: FILE_NAME,
            content: text,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_answer_is_a_file_below_its_first_line() {
        let short = "é".repeat(REPLY_MAX_CHARS);
        assert_eq!(event_of(short.clone()), ChannelEvent::Reply(short));
        let long = format!("first\n{}", "x".repeat(REPLY_MAX_CHARS));
        let file = TextFile {
            name: FILE_NAME,
            content: long.clone(),
        };
        assert_eq!(
            event_of(long),
            ChannelEvent::File {
                message: "first".into(),
                file
            }
        );
    }
}
