//! Commands in messages: a message that does not begin with a command is for a model.

use crate::{
    Definition, InvalidInput, Kind, RawInput, Registry, Surface, spelling::is_one_edit,
    tail::asks_for_help, tokens::tokens,
};

/// The word that asks for help.
const HELP: &str = "help";
/// Maximum length of a message that may be a mistyped command, in characters. A longer message is
/// prose.
const MISTYPED_MAX: usize = 120;
/// Option prefix, which prose hardly has as the third word.
const OPTION: &str = "--";

/// A message that is a command.
#[derive(Debug, Clone, PartialEq)]
pub enum Recognized {
    /// The message is `help`.
    Help,
    /// The message is `<group> help`.
    Group(&'static str),
    /// A command with `--help` or `-h`.
    Usage(&'static Definition),
    /// A command with the tail.
    Command {
        /// The definition of this command.
        definition: &'static Definition,
        /// The text after it.
        tail: String,
    },
    /// A short message that would be this command but for a typing error in the verb. It is never
    /// invoked.
    Mistyped(&'static Definition),
}

impl Registry {
    /// Returns the command that a message begins with, or `None` for prose. Commands with an
    /// inactive capability count too, and so do mistyped commands, so that neither becomes a run.
    pub fn recognize(&self, text: &str) -> Option<Recognized> {
        let text = text.trim();
        if text == HELP {
            return Some(Recognized::Help);
        }
        let (group, rest) = word(text)?;
        let (verb, tail) = word(rest)?;
        let command = |definition| Recognized::Command {
            definition,
            tail: tail.to_owned(),
        };
        let mut off = self
            .off_on(Surface::Chat)
            .filter(|definition| definition.group() == group);
        if verb == HELP && tail.is_empty() {
            let known = self
                .groups(Surface::Chat)
                .into_iter()
                .find(|known| *known == group);
            return known
                .map(Recognized::Group)
                .or_else(|| off.next().map(command));
        }
        let Some(definition) = self.find(group, verb, Surface::Chat) else {
            let off = off
                .find(|definition| definition.verb() == verb)
                .map(command);
            let is_short = text.chars().count() <= MISTYPED_MAX;
            let mistyped = || self.nearest(group, verb, tail).filter(|_| is_short);
            return off.or_else(|| mistyped().map(Recognized::Mistyped));
        };
        if tokens(tail).is_ok_and(|tokens| asks_for_help(&tokens)) {
            return Some(Recognized::Usage(definition));
        }
        Some(command(definition))
    }

    /// Returns a command whose verb is a typing error away, if the words after it fit the command.
    /// Other words are prose: "repo tests fail" is a sentence.
    fn nearest(&self, group: &str, verb: &str, tail: &str) -> Option<&'static Definition> {
        let fits = |definition: &Definition| {
            let is_input = || {
                let validated = definition.validate(&RawInput::Text(tail.to_owned()));
                matches!(validated, Ok(_) | Err(InvalidInput::Missing(_)))
            };
            let is_option = tail
                .strip_prefix(OPTION)
                .is_some_and(|name| name.starts_with(char::is_alphabetic));
            // Any words fit a field that takes the rest of a message.
            let takes_all = definition
                .args
                .iter()
                .any(|field| matches!(field.kind, Kind::Rest { .. }));
            is_option || tail.is_empty() || (!takes_all && is_input())
        };
        self.on(Surface::Chat)
            .chain(self.off_on(Surface::Chat))
            .filter(|definition| {
                definition.group() == group && is_one_edit(verb, definition.verb())
            })
            .find(|definition| fits(definition))
    }
}

/// Splits off the first word.
fn word(text: &str) -> Option<(&str, &str)> {
    if text.is_empty() {
        return None;
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    Some((word, rest.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Capability, Field, Surfaces};

    const LIST: Definition = Definition::read("runs.list", "runs:read", "Lists");
    const GET: Definition =
        Definition::read("runs.get", "runs:read", "Gets").on(Surfaces::NOT_CHAT);
    const DRAW: Definition =
        Definition::read("draw.now", "draw:read", "Draws").on(Surfaces::NOT_CHAT);

    const QUERY: Field = Field::optional("query", Kind::Rest { max: 9 }, "");
    const RECALL: Definition = Definition::read("memory.list", "memory:read", "Lists")
        .needing(Capability::Memory)
        .with_args(&[QUERY]);

    fn recognized(text: &str) -> Option<Recognized> {
        Registry::new(&[&LIST, &GET, &DRAW, &RECALL], &[])
            .unwrap()
            .recognize(text)
    }

    fn command(tail: &str) -> Option<Recognized> {
        Some(Recognized::Command {
            definition: &LIST,
            tail: tail.into(),
        })
    }

    #[test]
    fn message_that_begins_with_a_command_is_one() {
        assert_eq!(recognized("runs list"), command(""));
        assert_eq!(
            recognized("  runs\n list  --status all "),
            command("--status all")
        );
        assert_eq!(recognized("runs list, please"), None);
        assert_eq!(recognized("runs list please"), command("please"));
        assert_eq!(recognized("runs list \"open"), command("\"open"));
        assert_eq!(recognized(" help\n"), Some(Recognized::Help));
        assert_eq!(recognized("runs help"), Some(Recognized::Group("runs")));
        assert_eq!(recognized("runs list -h"), Some(Recognized::Usage(&LIST)));
        assert_eq!(recognized("runs list -- -h"), command("-- -h"));
    }

    #[test]
    fn command_without_its_capability_is_recognized() {
        let off = |tail: &str| {
            Some(Recognized::Command {
                definition: &RECALL,
                tail: tail.into(),
            })
        };
        for (text, tail) in [
            ("memory list me", "me"),
            ("memory list --help", "--help"),
            ("memory help", ""),
        ] {
            assert_eq!(recognized(text), off(tail), "{text}");
        }
    }

    #[test]
    fn everything_else_is_prose() {
        for text in [
            "",
            " ",
            "runs",
            "list runs",
            "please runs list",
            "Runs list",
            "runs.list",
            "runs listing",
            "runs lists everything that is broken",
            "runs lsit please",
            "runs get r1",
            "draw help",
            "help me",
            "help!",
            "runs help me",
            "agent:coding runs list",
            "memory of lists",
            "run tests please",
            "runs gte r1",
            "runs lists -- they are wrong since yesterday",
            "memory lost after the restart, please find out why",
        ] {
            assert_eq!(recognized(text), None, "{text}");
        }
        let long = format!("runs lsit --status {}", "x".repeat(MISTYPED_MAX));
        assert_eq!(recognized(&long), None);
    }

    #[test]
    fn one_typing_error_in_the_verb_is_no_prose() {
        for text in [
            "runs lsit",
            "runs lis",
            "runs lists",
            "runs lost",
            " runs\nlisst --status=all ",
        ] {
            assert_eq!(
                recognized(text),
                Some(Recognized::Mistyped(&LIST)),
                "{text}"
            );
        }
        assert_eq!(
            recognized("memory lists"),
            Some(Recognized::Mistyped(&RECALL))
        );
    }
}
