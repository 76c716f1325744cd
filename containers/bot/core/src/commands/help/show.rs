//! `help.show`: agents, directives, and message commands.

use ars_bot_tools::agents::AGENTS;
use ars_commands::{Definition, Registry, Surface};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{
    call::Call,
    command::{Command, NoInput},
    error::CommandError,
};

/// The id of the help. A message `help` needs no permission for it, a call of the command does.
pub(in super::super) const SHOW: &str = "help.show";
/// An example of the directives.
const DIRECTIVES: &str = "agent:coding model:provider/model effort:high fix the failing test";

/// The command.
pub(in super::super) struct Show;

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in super::super) struct Help {
    /// The agents.
    agents: Vec<Agent>,
    /// A message with directives, as an example.
    directives: String,
    /// The commands of messages.
    commands: Vec<CommandHelp>,
}

/// An agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Agent {
    /// Name.
    name: String,
    /// Description.
    description: String,
}

/// A command.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct CommandHelp {
    /// `<group>.<verb>`.
    id: String,
    /// The command as it is written in a message.
    form: String,
    /// Description.
    describe: String,
}

impl Command for Show {
    const DEFINITION: Definition = Definition::read(
        SHOW,
        "help:read",
        "Shows the agents, the directives and the commands.",
    );
    type Input = NoInput;
    type Output = Help;

    async fn run(call: Call<'_>, _: NoInput) -> Result<Help, CommandError> {
        Ok(Help::from_registry(call.registry()))
    }

    fn text(help: &Help) -> String {
        let agents = help
            .agents
            .iter()
            .map(|agent| format!("- `{}`: {}\n", agent.name, agent.description));
        let commands = help.commands.iter().map(line);
        format!(
            "Agents:\n{}\nDirectives, anywhere in a message:\n`{}`\n\nCommands, at the start of a message:\n{}",
            agents.collect::<String>(),
            help.directives,
            commands.collect::<String>().trim_end()
        )
    }
}

impl Help {
    fn from_registry(registry: &Registry) -> Self {
        let agents = AGENTS.iter().map(|agent| Agent {
            name: agent.name.to_owned(),
            description: agent.description.to_owned(),
        });
        let commands = registry.on(Surface::Chat).map(of_command);
        Self {
            agents: agents.collect(),
            directives: DIRECTIVES.to_owned(),
            commands: commands.collect(),
        }
    }
}

/// Returns the whole help for people.
pub(in super::super) fn of_all(registry: &Registry) -> String {
    Show::text(&Help::from_registry(registry))
}

/// Returns the commands of a group for people.
pub(in super::super) fn of_group(registry: &Registry, group: &str) -> String {
    let commands = registry
        .on(Surface::Chat)
        .filter(|definition| definition.group() == group);
    let lines: String = commands
        .map(|definition| line(&of_command(definition)))
        .collect();
    lines.trim_end().to_owned()
}

fn of_command(definition: &'static Definition) -> CommandHelp {
    CommandHelp {
        id: definition.id.to_owned(),
        form: definition.form(),
        describe: definition.about.to_owned(),
    }
}

fn line(command: &CommandHelp) -> String {
    format!("- `{}`: {}\n", command.form, command.describe)
}
