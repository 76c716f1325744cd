//! A command invocation: definition, words, and the options that every command has.

use std::ffi::OsString;

use ars_bot_core::commands::catalogue;
use ars_commands::{Definition, RawInput, Surface};

use super::options::{CONFIG, DATA_DIR, JSON, SERVER};
use crate::{
    args::{Data, Setup},
    commands::Failure,
    environment::{self, name},
};

/// Marks the end of options.
const END_OF_OPTIONS: &str = "--";

/// The command whose text for people has a run's answer, which is among the events.
const WITH_ANSWER: &str = "runs.get";
/// The command's option that adds events.
const INCLUDE: &str = "--include";

/// A command with words and options.
#[derive(Debug)]
pub struct Invocation {
    /// The invoked command's definition.
    pub(super) definition: &'static Definition,
    /// The command's words: arguments and its own options.
    pub(super) words: Vec<String>,
    /// Whether the output is printed as JSON.
    pub(super) json: bool,
    /// Service address, or `None` for the configured stores.
    pub(super) server: Option<String>,
    /// Data directory and configuration.
    pub(super) setup: Setup,
}

impl Invocation {
    /// Returns the command that the process arguments begin with. `None` without a command, and
    /// when help is requested, which clap prints.
    pub fn find(arguments: &[OsString]) -> Option<Result<Self, Failure>> {
        let text = |index: usize| {
            arguments
                .get(index)
                .and_then(|word: &OsString| word.to_str())
        };
        let id = format!("{}.{}", text(1)?, text(2)?);
        let definition = catalogue().get(&id, Surface::Cli)?;
        let words: Option<Vec<String>> = arguments[3..]
            .iter()
            .map(|word| word.to_str().map(str::to_owned))
            .collect();
        let Some(words) = words else {
            return Some(Err(Failure::InvalidInput(
                "the arguments must be UTF-8".into(),
            )));
        };
        let is_help = |word: &String| word == "--help" || word == "-h";
        if words
            .iter()
            .take_while(|word| *word != END_OF_OPTIONS)
            .any(is_help)
        {
            return None;
        }
        Some(Self::read(definition, words))
    }

    /// Validates the words here, before anything is opened or sent.
    ///
    /// # Errors
    ///
    /// They are invalid. The message ends with the usage.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let raw = RawInput::Tokens(self.words.clone());
        self.definition.validate(&raw).map(drop).map_err(|error| {
            let form = self.definition.form();
            Failure::InvalidInput(format!(
                "{error}\n\nUsage: ars {form}\n\nFor more information, try '--help'."
            ))
        })
    }

    /// Separates the options that every command has from the command's own words.
    fn read(definition: &'static Definition, words: Vec<String>) -> Result<Self, Failure> {
        let mut common = Common::default();
        let mut own = Vec::new();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if word == END_OF_OPTIONS {
                own.push(word);
                own.extend(words.by_ref());
            } else if !common.read(&word, &mut words)? {
                own.push(word);
            }
        }
        if definition.id == WITH_ANSWER
            && !common.json
            && !own.iter().any(|word| word.starts_with(INCLUDE))
        {
            // Before the words, because an end-of-options mark may be among them.
            own.insert(0, format!("{INCLUDE}=messages"));
        }
        Ok(Self {
            definition,
            words: own,
            json: common.json,
            server: common
                .server
                .or_else(|| environment::variable(name::SERVER)),
            setup: Setup {
                data: Data {
                    dir: common
                        .data_dir
                        .or_else(|| environment::variable(name::DATA_DIR))
                        .map(Into::into),
                },
                config: common
                    .config
                    .or_else(|| environment::variable(name::CONFIG))
                    .map(Into::into),
                model: None,
                rehearsal: None,
                purpose: crate::args::Purpose::Commands,
            },
        })
    }
}

/// The options that every command has.
#[derive(Default)]
struct Common {
    json: bool,
    server: Option<String>,
    data_dir: Option<String>,
    config: Option<String>,
}

impl Common {
    /// Reads a word, with the value from `rest`. Returns whether the word is such an option.
    fn read(
        &mut self,
        word: &str,
        rest: &mut impl Iterator<Item = String>,
    ) -> Result<bool, Failure> {
        let Some(option) = word.strip_prefix("--") else {
            return Ok(false);
        };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        let place = match name {
            JSON if value.is_none() => {
                self.json = true;
                return Ok(true);
            }
            SERVER => &mut self.server,
            DATA_DIR => &mut self.data_dir,
            CONFIG => &mut self.config,
            _ => return Ok(false),
        };
        let value = value
            .or_else(|| rest.next())
            .filter(|value| !value.is_empty());
        if place.is_some() {
            return Err(Failure::InvalidInput(format!("--{name} is given twice")));
        }
        *place =
            Some(value.ok_or_else(|| Failure::InvalidInput(format!("--{name} needs a value")))?);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(arguments: &[&str]) -> Option<Result<Invocation, Failure>> {
        let arguments: Vec<OsString> = ["ars"].iter().chain(arguments).map(Into::into).collect();
        Invocation::find(&arguments)
    }

    #[test]
    fn common_options_stand_anywhere_before_the_end_of_options() {
        let arguments = [
            "runs",
            "get",
            "--json",
            "r1",
            "--server=http://h",
            "--",
            "--json",
        ];
        let invocation = found(&arguments).unwrap().unwrap();
        assert_eq!(invocation.definition.id, "runs.get");
        assert_eq!(invocation.words, ["r1", "--", "--json"]);
        assert!(invocation.json);
        assert_eq!(invocation.server.as_deref(), Some("http://h"));
    }

    #[test]
    fn other_words_and_help_are_not_invocations() {
        for arguments in [
            &["ask", "runs"][..],
            &["runs"],
            &["runs", "fly"],
            &["runs", "get", "-h"],
        ] {
            assert!(found(arguments).is_none(), "{arguments:?}");
        }
        assert!(found(&["runs", "get", "--", "-h"]).is_some());
    }

    #[test]
    fn option_without_a_value_is_invalid() {
        for arguments in [
            &["runs", "list", "--server"][..],
            &["runs", "list", "--config="],
        ] {
            assert!(
                matches!(found(arguments), Some(Err(Failure::InvalidInput(_)))),
                "{arguments:?}"
            );
        }
    }
}
