//! Registry commands as `ars` subcommands, for help and completions.

use ars_bot_tools::agents::AGENTS;
use ars_commands::{Definition, Field, Kind, Registry, Surface};
use clap::{Arg, ArgAction, Args as _, Command, builder::PossibleValuesParser};

use super::options::{CONFIG, DATA_DIR, JSON, SERVER};
use crate::args::{RUNS, RunsWatch, WATCH};

/// The group that clap has a subcommand for. Its command is invoked all the same.
const HELP: &str = "help";
/// Heading for the options that every command has.
const COMMON: &str = "Common options";

/// Returns the command line with a registry's commands, with a subcommand for each group.
pub fn with_commands(mut cli: Command, registry: &Registry) -> Command {
    for group in registry
        .groups(Surface::Cli)
        .into_iter()
        .filter(|group| *group != HELP)
    {
        let verbs: Vec<_> = registry
            .on(Surface::Cli)
            .filter(|command| command.group() == group)
            .collect();
        let names: Vec<_> = verbs.iter().map(|definition| definition.verb()).collect();
        let mut parent = Command::new(group)
            .about(format!("Commands: {}", names.join(", ")))
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommands(verbs.into_iter().map(verb));
        if group == RUNS {
            // After the arguments: their type has its own description.
            let watch = RunsWatch::augment_args(Command::new(WATCH));
            parent = parent.subcommand(
                watch
                    .about("Follows a run of a service until it ends")
                    .long_about(None),
            );
        }
        cli = cli.subcommand(parent);
    }
    cli
}

/// Returns a single command with the full name, for its help.
pub fn alone(definition: &'static Definition) -> Command {
    verb(definition).bin_name(format!("ars {} {}", definition.group(), definition.verb()))
}

fn verb(definition: &'static Definition) -> Command {
    let about = definition.about.trim_end_matches('.');
    let arguments = definition.args.iter().map(|field| {
        let name = field.kebab().into_owned();
        let argument = Arg::new(name.clone())
            .value_name(name.to_uppercase())
            .help(field.help());
        let argument = if field.kind == Kind::Boolean {
            argument
        } else {
            with_words(argument, field)
        };
        let argument = argument.required(field.is_required());
        if is_rest(field) {
            argument.num_args(0..)
        } else {
            argument
        }
    });
    let options = definition.options.iter().flat_map(option);
    Command::new(definition.verb())
        .about(about)
        .args(arguments)
        .args(options)
        .args(common(definition))
}

fn is_rest(field: &Field) -> bool {
    matches!(field.kind, Kind::Rest { .. })
}

/// Returns a field's options. A map has an option for each agent.
fn option(field: &'static Field) -> Vec<Arg> {
    let named = |name: String| Arg::new(name.clone()).long(name).help(field.help());
    let name = field.kebab().into_owned();
    match field.kind {
        Kind::Map { .. } => AGENTS
            .iter()
            .map(|agent| named(format!("{name}.{}", agent.name)).value_name(field.placeholder()))
            .collect(),
        Kind::Boolean => vec![named(name).action(ArgAction::SetTrue)],
        _ => {
            vec![
                with_words(named(name).value_name(field.placeholder()), field)
                    .required(field.is_required()),
            ]
        }
    }
}

/// Adds a choice's words, which completions offer. Help names them already.
fn with_words(argument: Arg, field: &Field) -> Arg {
    match field.kind {
        Kind::Choice(words) => argument
            .value_parser(PossibleValuesParser::new(words.iter().copied()))
            .hide_possible_values(true),
        _ => argument,
    }
}

fn common(definition: &Definition) -> Vec<Arg> {
    let option = |name: &'static str, placeholder: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name(placeholder)
            .help(help)
            .help_heading(COMMON)
    };
    let json = Arg::new(JSON)
        .long(JSON)
        .action(ArgAction::SetTrue)
        .help_heading(COMMON);
    let mut common = vec![json.help("Print the output as JSON in one line")];
    if definition.surfaces.contain(Surface::Api) {
        common.push(option(
            SERVER,
            "URL",
            "Send the command to this service, with the token in ARS_TOKEN [env: ARS_SERVER]",
        ));
        common.push(option(
            DATA_DIR,
            "DIR",
            "Directory of runs and working trees [env: ARS_DATA_DIR]",
        ));
        common.push(option(
            CONFIG,
            "FILE",
            "Configuration file [env: SERVICE_CONFIG]",
        ));
    }
    common
}

#[cfg(test)]
mod tests {
    use ars_bot_core::commands::catalogue;

    use super::*;

    #[test]
    fn command_line_is_well_formed() {
        with_commands(Command::new("ars"), &catalogue()).debug_assert();
    }

    #[test]
    fn no_command_has_a_common_option() {
        for definition in catalogue().on(Surface::Cli) {
            for name in [JSON, SERVER, DATA_DIR, CONFIG] {
                assert!(
                    definition.options.iter().all(|field| field.kebab() != name),
                    "{}",
                    definition.id
                );
            }
        }
    }
}
