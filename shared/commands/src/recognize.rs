//! The commands of messages: a message that does not begin with a command is for a model.

use crate::{Definition, Registry, Surface, tail::asks_for_help, tokens::tokens};

/// The word that asks for help.
const HELP: &str = "help";

/// A message that is a command.
#[derive(Debug, Clone, PartialEq)]
pub enum Recognized {
    /// `help`.
    Help,
    /// `<group> help`.
    Group(&'static str),
    /// A command with `--help` or `-h`.
    Usage(&'static Definition),
    /// A command.
    Command {
        /// The command.
        definition: &'static Definition,
        /// The text after it.
        tail: String,
    },
}

impl Registry {
    /// Returns the command that a message begins with, or `None` for prose.
    /// A command whose capability is off is one as well, so that it never becomes a run.
    pub fn recognize(&self, text: &str) -> Option<Recognized> {
        let text = text.trim();
        if text == HELP {
            return Some(Recognized::Help);
        }
        let (group, rest) = word(text)?;
        let (verb, tail) = word(rest)?;
        let command = |definition| Recognized::Command { definition, tail: tail.to_owned() };
        let mut off = self.off_on(Surface::Chat).filter(|definition| definition.group() == group);
        if verb == HELP && tail.is_empty() {
            let known = self.groups(Surface::Chat).into_iter().find(|known| *known == group);
            return known.map(Recognized::Group).or_else(|| off.next().map(command));
        }
        let Some(definition) = self.of(group, verb, Surface::Chat) else {
            return off.find(|definition| definition.verb() == verb).map(command);
        };
        if tokens(tail).is_ok_and(|tokens| asks_for_help(&tokens)) {
            return Some(Recognized::Usage(definition));
        }
        Some(command(definition))
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
    use crate::{Capability, Surfaces};

    const LIST: Definition = Definition::read("runs.list", "runs:read", "Lists");
    const GET: Definition = Definition::read("runs.get", "runs:read", "Gets").on(Surfaces::NOT_CHAT);
    const DRAW: Definition = Definition::read("draw.now", "draw:read", "Draws").on(Surfaces::NOT_CHAT);

    const RECALL: Definition =
        Definition::read("memory.list", "memory:read", "Lists").needing(Capability::Memory);

    fn recognized(text: &str) -> Option<Recognized> {
        Registry::new(&[&LIST, &GET, &DRAW, &RECALL], &[]).unwrap().recognize(text)
    }

    fn command(tail: &str) -> Option<Recognized> {
        Some(Recognized::Command { definition: &LIST, tail: tail.into() })
    }

    #[test]
    fn message_that_begins_with_a_command_is_one() {
        assert_eq!(recognized("runs list"), command(""));
        assert_eq!(recognized("  runs\n list  --status all "), command("--status all"));
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
        let off = |tail: &str| Some(Recognized::Command { definition: &RECALL, tail: tail.into() });
        for (text, tail) in [("memory list me", "me"), ("memory list --help", "--help"), ("memory help", "")]
        {
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
            "runs get r1",
            "draw help",
            "help me",
            "help!",
            "runs help me",
            "agent:coding runs list",
            "memory lists",
        ] {
            assert_eq!(recognized(text), None, "{text}");
        }
    }
}
