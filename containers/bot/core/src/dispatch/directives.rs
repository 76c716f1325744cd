//! Directives anywhere in a request's text: `agent:coding model:provider/name effort:high repo:owner/name ref:main`
//! (bot supplement section 12.2).
//!
//! `=` separates as well as `:`. A directive begins at the start or after white space; its value runs to the next
//! white space. It is cut out of the text the model sees, with the blanks beside it; line breaks elsewhere stay,
//! because requests carry code. `repo` and `ref` are this service's form of a repository hint.

use ars_types::{Effort, ModelRef, RefName};

use crate::{agents, message::Choices};

/// A request's text without its directives, and what they said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directed {
    /// What the model sees.
    pub text: String,
    /// What the directives chose.
    pub choices: Choices,
}

/// Reads the directives of the message being dispatched: an invalid value is refused with the valid ones.
pub fn read(text: &str) -> Result<Directed, String> {
    let mut choices = Choices::default();
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = next_word(rest) {
        let (before, from_word) = rest.split_at(start);
        let end = from_word.find(char::is_whitespace).unwrap_or(from_word.len());
        let (word, after) = from_word.split_at(end);
        let Some((key, value)) = split(word) else {
            kept.push_str(before);
            kept.push_str(word);
            rest = after;
            continue;
        };
        apply(&mut choices, key, value)?;
        kept.push_str(before.trim_end_matches([' ', '\t']));
        // One blank stands where the directive stood, unless a line break or an end already separates.
        rest = after.trim_start_matches([' ', '\t']);
        if !kept.is_empty()
            && !kept.ends_with(char::is_whitespace)
            && !rest.is_empty()
            && !rest.starts_with(['\n', '\r'])
        {
            kept.push(' ');
        }
    }
    kept.push_str(rest);
    let cut = choices != Choices::default();
    Ok(Directed { text: if cut { kept.trim().to_owned() } else { text.to_owned() }, choices })
}

/// What earlier user turns of the thread chose: the last valid value of each key wins, invalid ones are skipped.
pub fn sticky<'a>(user_turns: impl Iterator<Item = &'a str>) -> Choices {
    let mut choices = Choices::default();
    for (key, value) in user_turns.flat_map(str::split_whitespace).filter_map(split) {
        // A refused value leaves the choice as it was.
        drop(apply(&mut choices, key, value));
    }
    choices
}

fn next_word(text: &str) -> Option<usize> {
    text.find(|c: char| !c.is_whitespace())
}

/// Splits a word that is a directive with a value.
fn split(word: &str) -> Option<(&str, &str)> {
    let (key, value) = word.split_once([':', '='])?;
    let known = matches!(key, "agent" | "model" | "effort" | "repo" | "ref");
    (known && !value.is_empty()).then_some((key, value))
}

/// Takes one directive. The text of a refusal names what is valid; it quotes nothing, because a pasted secret may
/// stand where a value was meant.
fn apply(choices: &mut Choices, key: &str, value: &str) -> Result<(), String> {
    match key {
        "agent" => {
            let agent = agents::find(value)
                .ok_or_else(|| format!("there is no such agent. The agents are: {}.", agents::names()))?;
            choices.agent = Some(agent.name.to_owned());
        }
        "model" => choices.model = Some(ModelRef::parse(value).map_err(|refused| format!("{refused}."))?),
        "effort" => {
            let words: Vec<_> = Effort::ALL.iter().map(|effort| effort.as_str()).collect();
            let effort = Effort::parse(value)
                .ok_or_else(|| format!("there is no such effort. The efforts are: {}.", words.join(", ")))?;
            choices.effort = Some(effort);
        }
        "repo" => choices.repository = Some(value.to_owned()),
        _ => choices.git_ref = Some(RefName::parse(value).map_err(|refused| format!("the {refused}."))?),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(text: &str) -> String {
        read(text).unwrap().text
    }

    #[test]
    fn directives_are_read_anywhere_and_cut_out() {
        let directed = read("please agent:coding fix it effort=high model:openai/a/b now").unwrap();
        assert_eq!(directed.text, "please fix it now");
        assert_eq!(directed.choices.agent.as_deref(), Some("coding"));
        assert_eq!(directed.choices.effort, Some(Effort::High));
        assert_eq!(directed.choices.model.unwrap().model(), "a/b");
    }

    #[test]
    fn code_in_a_request_keeps_its_lines_and_blanks() {
        assert_eq!(
            text_of("agent:coding fix\n\n    def f():\n        pass\n"),
            "fix\n\n    def f():\n        pass"
        );
        assert_eq!(text_of("fix\nref:main\n  x"), "fix\n\n  x");
        assert_eq!(text_of("  just   text \n"), "  just   text \n");
    }

    #[test]
    fn words_that_only_look_like_directives_stay() {
        for text in ["the agent: smith", "subagent:coding", "budget:3", "http://x/?agent:y", "repo:"] {
            assert_eq!(text_of(text), text);
        }
    }

    #[test]
    fn the_last_of_several_wins() {
        assert_eq!(read("agent:coding agent:general x").unwrap().choices.agent.as_deref(), Some("general"));
    }

    #[test]
    fn invalid_values_are_refused_without_being_quoted() {
        for text in ["agent:sk-secret", "effort:sk-secret", "model:sk-secret", "ref:--sk-secret"] {
            let refusal = read(text).unwrap_err();
            assert!(!refusal.contains("secret"), "{refusal}");
        }
        assert!(read("agent:nobody").unwrap_err().contains("general, coding"));
    }

    #[test]
    fn a_thread_remembers_the_last_valid_choice() {
        let turns = ["agent:coding model:a/b", "agent:nobody effort:low"];
        let choices = sticky(turns.into_iter());
        assert_eq!(choices.agent.as_deref(), Some("coding"));
        assert_eq!(choices.effort, Some(Effort::Low));
    }
}
