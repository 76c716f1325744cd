//! Directives anywhere in a request's text: `agent:coding model:provider/name effort:high repo:owner/name ref:main`
//! (bot supplement section 12.2).
//!
//! `=` separates as well as `:`. A directive begins at the start or after white space; its value runs to the next
//! white space. It is cut out of the text the model sees, with the blanks beside it; line breaks elsewhere stay,
//! because requests carry code. Words inside of code that Markdown marks as such are never directives. `repo` and `ref`
//! are this service's form of a repository hint; `repo=args.repo`, which programs say, is none.

use std::ops::Range;

use ars_bot_ports::Choices;
use ars_bot_tools::agents;
use ars_types::{Effort, ModelRef, RefName};

use super::code_spans::code_spans;

/// Marks of a program's text that no name of a model or a ref holds, and no name, path or URL of a repository.
const CODE_MARKS: &[char] =
    &['"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '|', '$', '*', '!', '='];

/// What programs keep repositories and refs in: `repo=args.repo` reads a field of it. Any other name with a point in it may
/// be a repository's or a branch's, such as `next.js`.
const HOLDERS: &[&str] = &[
    "args", "argv", "cfg", "cls", "config", "context", "ctx", "data", "env", "event", "input", "kwargs",
    "opts", "options", "params", "process", "props", "req", "request", "self", "settings", "state", "this",
];

/// A request's text without its directives, and what they said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directed {
    /// What the model sees.
    pub text: String,
    /// The same with the words that name a repository or a ref: what the model of a live run sees, which has its own.
    pub placed: String,
    /// What the directives chose.
    pub choices: Choices,
}

/// Reads the directives of the message being dispatched. An unknown agent or effort is refused with the valid ones; any
/// other word that only looks like a directive stays, because requests carry code.
pub fn read(text: &str) -> Result<Directed, String> {
    let mut choices = Choices::default();
    let (mut all, mut placeless) = (Vec::new(), Vec::new());
    for Candidate { place, key, value } in candidates(text) {
        if apply(&mut choices, key, value)? == Applied::NotOurs {
            continue;
        }
        if !matches!(key, "repo" | "ref") {
            placeless.push(place.clone());
        }
        all.push(place);
    }
    Ok(Directed { text: without(text, &all), placed: without(text, &placeless), choices })
}

/// A text without these words of it.
fn without(text: &str, words: &[Range<usize>]) -> String {
    if words.is_empty() {
        return text.to_owned();
    }
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    for word in words {
        kept.push_str(&text[at..word.start]);
        kept.truncate(kept.trim_end_matches([' ', '\t']).len());
        // One blank stands where the directive stood, unless a line break or an end already separates.
        let after = text[word.end..].trim_start_matches([' ', '\t']);
        at = text.len() - after.len();
        if !kept.is_empty()
            && !kept.ends_with(char::is_whitespace)
            && !after.is_empty()
            && !after.starts_with(['\n', '\r'])
        {
            kept.push(' ');
        }
    }
    kept.push_str(&text[at..]);
    kept.trim().to_owned()
}

/// What earlier user turns of the thread chose: the last valid value of each key wins, invalid ones are skipped.
pub fn sticky<'a>(user_turns: impl Iterator<Item = &'a str>) -> Choices {
    let mut choices = Choices::default();
    for Candidate { key, value, .. } in user_turns.flat_map(candidates) {
        // A refused value leaves the choice as it was.
        drop(apply(&mut choices, key, value));
    }
    choices
}

/// A word that has a directive's form.
struct Candidate<'a> {
    place: Range<usize>,
    key: &'a str,
    value: &'a str,
}

/// The candidates outside of code, in order.
fn candidates(text: &str) -> Vec<Candidate<'_>> {
    let mut code = code_spans(text).into_iter().peekable();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(start) = text[at..].find(|c: char| !c.is_whitespace()) {
        let begin = at + start;
        let word = text[begin..].split(char::is_whitespace).next().unwrap_or_default();
        at = begin + word.len();
        while code.next_if(|span| span.end <= begin).is_some() {}
        let is_code = code.peek().is_some_and(|span| span.contains(&begin));
        if let Some((key, value)) = split(word).filter(|_| !is_code) {
            found.push(Candidate { place: begin..at, key, value });
        }
    }
    found
}

/// Splits a word that is a directive with a value.
fn split(word: &str) -> Option<(&str, &str)> {
    let (key, value) = word.split_once([':', '='])?;
    let is_known = match key {
        "agent" | "model" | "effort" => true,
        "repo" | "ref" => word[key.len()..].starts_with(':') || !is_field(value),
        _ => false,
    };
    (is_known && !value.is_empty()).then_some((key, value))
}

/// Whether it reads as a field in a program's text: names with points between them, of which the first holds fields.
fn is_field(value: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|first: char| first.is_alphabetic() || first == '_')
            && part.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    let is_held = value.split_once('.').is_some_and(|(holder, _)| HOLDERS.contains(&holder));
    is_held && value.split('.').all(is_name)
}

/// What became of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Applied {
    /// It is a directive.
    Taken,
    /// It is a word of the text.
    NotOurs,
}

/// Takes one directive. The text of a refusal names what is valid; it quotes nothing, because a pasted secret may
/// stand where a value was meant.
fn apply(choices: &mut Choices, key: &str, value: &str) -> Result<Applied, String> {
    let is_taken = match key {
        "agent" => {
            let agent = agents::find(value)
                .ok_or_else(|| format!("there is no such agent. The agents are: {}.", agents::names()))?;
            choices.agent = Some(agent.name.to_owned());
            true
        }
        "effort" => {
            let words: Vec<_> = Effort::ALL.iter().map(|effort| effort.as_str()).collect();
            let effort = Effort::parse(value)
                .ok_or_else(|| format!("there is no such effort. The efforts are: {}.", words.join(", ")))?;
            choices.effort = Some(effort);
            true
        }
        _ if value.contains(CODE_MARKS) => false,
        "model" => put(&mut choices.model, ModelRef::parse(value).ok()),
        "repo" => put(&mut choices.repository, Some(value.to_owned())),
        _ => put(&mut choices.git_ref, RefName::parse(value).ok()),
    };
    Ok(if is_taken { Applied::Taken } else { Applied::NotOurs })
}

/// Chooses a value that was understood.
fn put<T>(choice: &mut Option<T>, value: Option<T>) -> bool {
    let is_understood = value.is_some();
    *choice = value.or(choice.take());
    is_understood
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(text: &str) -> String {
        read(text).unwrap().text
    }

    #[test]
    fn the_words_that_name_a_place_stay_for_a_run_that_has_another() {
        let directed = read("agent:coding repo:acme/app ref:dev fix it effort:low\nnow").unwrap();
        assert_eq!(directed.text, "fix it\nnow");
        assert_eq!(directed.placed, "repo:acme/app ref:dev fix it\nnow");
        assert_eq!(read(" as it is ").unwrap().placed, " as it is ");
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
        for text in ["agent:sk-secret", "effort:sk-secret"] {
            let refusal = read(text).unwrap_err();
            assert!(!refusal.contains("secret"), "{refusal}");
        }
        assert!(read("agent:nobody").unwrap_err().contains("general, coding"));
    }

    #[test]
    fn pasted_code_refuses_and_changes_nothing() {
        for text in [
            "why is ref=&value and ref:--x",
            "set model=gpt and model:\"a/b\"",
            "repo=(self.repo, 1) repo:{id} repo=\"x\"",
            "in `agent:nobody ref:main` and ``effort=max ` ``",
            "see\n```yaml\nagent:nobody effort:9\n  repo:acme/app\n```\nplease",
        ] {
            let unread = Directed { text: text.into(), placed: text.into(), choices: Choices::default() };
            assert_eq!(read(text), Ok(unread), "{text}");
            assert_eq!(sticky([text].into_iter()), Choices::default(), "{text}");
        }
        let directed = read("ref:main in `ref:x` ref=&x agent:coding").unwrap();
        assert_eq!(directed.text, "in `ref:x` ref=&x");
        assert_eq!(directed.choices.git_ref, RefName::parse("main").ok());
    }

    #[test]
    fn an_assignment_from_a_field_is_no_hint_and_one_that_names_a_place_is() {
        for text in
            ["call clone(repo=args.repo now", "set repo=args.repo", "ref=self.head.ref repo=cfg._repo"]
        {
            let unread = Directed { text: text.into(), placed: text.into(), choices: Choices::default() };
            assert_eq!(read(text), Ok(unread), "{text}");
        }
        let hints = read("repo=acme/app.rs ref=v1.2 x").unwrap().choices;
        assert_eq!(
            (hints.repository.as_deref(), hints.git_ref),
            (Some("acme/app.rs"), RefName::parse("v1.2").ok())
        );
        for (text, repository, git_ref) in [
            ("repo=next.js ref=release.next x", "next.js", "release.next"),
            ("repo=this-app.self ref=v1.x x", "this-app.self", "v1.x"),
        ] {
            let dotted = read(text).unwrap().choices;
            let expected = (Some(repository), RefName::parse(git_ref).ok());
            assert_eq!((dotted.repository.as_deref(), dotted.git_ref), expected, "{text}");
        }
        let named = read("repo=app ref:release.next x").unwrap().choices;
        let (repository, git_ref) = (named.repository.as_deref(), named.git_ref);
        assert_eq!((repository, git_ref), (Some("app"), RefName::parse("release.next").ok()));
    }

    #[test]
    fn a_thread_remembers_the_last_valid_choice() {
        let turns = ["agent:coding model:a/b", "agent:nobody effort:low"];
        let choices = sticky(turns.into_iter());
        assert_eq!(choices.agent.as_deref(), Some("coding"));
        assert_eq!(choices.effort, Some(Effort::Low));
    }
}
