//! Directives anywhere in a request's text (docs/reference/ingress.md#directives).
//!
//! For example `agent:coding model:provider/name effort:high repo:owner/name ref:main`. `=`
//! separates as well as `:`. A directive starts at the start or after white space, and the value
//! ends at the next white space. It is removed from the model's text with the adjacent blanks. Line
//! breaks elsewhere stay, because requests carry code. Words in Markdown code are never directives.
//! `repo` and `ref` are this service's form of a repository hint, and `repo=args.repo`, as in a
//! program, is none. `ref:` is never read as code: a run that silently starts from the default
//! branch is worse than an error.

use std::ops::Range;

use ars_bot_ports::{Choices, DirectiveFault};
use ars_bot_tools::agents;
use ars_codehost::code_spans;
use ars_types::{Effort, MODEL_MAX, ModelRef, RefName};

/// Maximum length of a repository name, path or address, in characters.
const REPOSITORY_MAX: usize = 500;

/// Program text characters that no model, ref, repository name, path or URL contains.
const CODE_MARKS: &[char] = &[
    '"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '|', '$', '*', '!', '=',
];

/// Names that hold fields in program text: `repo=args.repo`. Any other name with a dot may be a
/// repository's or a branch's, such as `next.js`.
const HOLDERS: &[&str] = &[
    "args", "argv", "cfg", "cls", "config", "context", "ctx", "data", "env", "event", "input",
    "kwargs", "opts", "options", "params", "process", "props", "req", "request", "self",
    "settings", "state", "this",
];

/// A request's text without directives, and the choices they make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedDirectives {
    /// The text for the model.
    pub text: String,
    /// The text including `repo` and `ref` directives, for a live run's model that has its own.
    pub text_with_place: String,
    /// Choices made by the directives.
    pub choices: Choices,
}

/// Parses a message's directives.
///
/// # Errors
/// An unknown agent or effort, a malformed ref, or a model or repository that is too long. Any
/// other word shaped like a directive stays in the text, because requests carry code.
pub fn parse(text: &str) -> Result<ParsedDirectives, DirectiveFault> {
    let mut choices = Choices::default();
    let (mut all, mut placeless) = (Vec::new(), Vec::new());
    for candidate in candidates(text) {
        if apply(&mut choices, &candidate)? == Applied::NotOurs {
            continue;
        }
        let Candidate { place, key, .. } = candidate;
        if !matches!(key, "repo" | "ref") {
            placeless.push(place.clone());
        }
        all.push(place);
    }
    Ok(ParsedDirectives {
        text: without(text, &all),
        text_with_place: without(text, &placeless),
        choices,
    })
}

/// Returns a text without these words.
fn without(text: &str, words: &[Range<usize>]) -> String {
    if words.is_empty() {
        return text.to_owned();
    }
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    for word in words {
        kept.push_str(&text[at..word.start]);
        kept.truncate(kept.trim_end_matches([' ', '\t']).len());
        // A single blank replaces the directive unless a line break or an end already separates.
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

/// Returns choices from the thread's earlier user turns: the last valid value for each key.
pub fn sticky<'a>(user_turns: impl Iterator<Item = &'a str>) -> Choices {
    let mut choices = Choices::default();
    for candidate in user_turns.flat_map(candidates) {
        // An invalid value leaves the choice unchanged.
        drop(apply(&mut choices, &candidate));
    }
    choices
}

/// A word shaped like a directive.
struct Candidate<'a> {
    place: Range<usize>,
    key: &'a str,
    value: &'a str,
    /// The separator is `=`, as in a program.
    is_assignment: bool,
}

/// Returns the candidates outside code, in order.
fn candidates(text: &str) -> Vec<Candidate<'_>> {
    let mut code = code_spans(text).into_iter().peekable();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(start) = text[at..].find(|c: char| !c.is_whitespace()) {
        let begin = at + start;
        let word = text[begin..]
            .split(char::is_whitespace)
            .next()
            .unwrap_or_default();
        at = begin + word.len();
        while code.next_if(|span| span.end <= begin).is_some() {}
        let is_code = code.peek().is_some_and(|span| span.contains(&begin));
        if let Some((key, value)) = split(word).filter(|_| !is_code) {
            let is_assignment = word[key.len()..].starts_with('=');
            found.push(Candidate {
                place: begin..at,
                key,
                value,
                is_assignment,
            });
        }
    }
    found
}

/// Splits a directive into key and value.
fn split(word: &str) -> Option<(&str, &str)> {
    let (key, value) = word.split_once([':', '='])?;
    let is_known = match key {
        "agent" | "model" | "effort" => true,
        "repo" | "ref" => word[key.len()..].starts_with(':') || !is_field(value),
        _ => false,
    };
    (is_known && !value.is_empty()).then_some((key, value))
}

/// Returns whether a value is a field access: names joined by dots, the first of which holds fields.
fn is_field(value: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|first: char| first.is_alphabetic() || first == '_')
            && part
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    let is_held = value
        .split_once('.')
        .is_some_and(|(holder, _)| HOLDERS.contains(&holder));
    is_held && value.split('.').all(is_name)
}

/// How a candidate was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Applied {
    /// It is a directive.
    Taken,
    /// An ordinary word in the text.
    NotOurs,
}

/// Applies a directive. The fault does not quote the value, because a pasted secret may be there.
fn apply(choices: &mut Choices, candidate: &Candidate<'_>) -> Result<Applied, DirectiveFault> {
    let Candidate {
        key,
        value,
        is_assignment,
        ..
    } = *candidate;
    let is_taken = match key {
        "agent" => {
            let unknown = || DirectiveFault::Agent {
                known: agents::names(),
            };
            let agent = agents::find(value).ok_or_else(unknown)?;
            choices.agent = Some(agent.name.to_owned());
            true
        }
        "effort" => {
            let words = Effort::ALL.iter().map(|effort| effort.as_str());
            let unknown = || DirectiveFault::Effort {
                known: words.collect::<Vec<_>>().join(", "),
            };
            choices.effort = Some(Effort::parse(value).ok_or_else(unknown)?);
            true
        }
        "ref" if is_assignment && (value.contains(CODE_MARKS) || value.starts_with('&')) => false,
        "ref" => {
            choices.git_ref = Some(RefName::parse(value).map_err(|_| DirectiveFault::Ref)?);
            true
        }
        _ if value.contains(CODE_MARKS) => false,
        "model" if value.contains('/') && exceeds(value, MODEL_MAX) => {
            return Err(DirectiveFault::TooLong {
                key: "model",
                max: MODEL_MAX,
            });
        }
        "repo" if exceeds(value, REPOSITORY_MAX) => {
            return Err(DirectiveFault::TooLong {
                key: "repo",
                max: REPOSITORY_MAX,
            });
        }
        "model" => put(&mut choices.model, ModelRef::parse(value).ok()),
        _ => put(&mut choices.repository, Some(value.to_owned())),
    };
    Ok(if is_taken {
        Applied::Taken
    } else {
        Applied::NotOurs
    })
}

fn exceeds(value: &str, max: usize) -> bool {
    value.chars().count() > max
}

/// Sets a parsed value, and returns whether it was present.
fn put<T>(choice: &mut Option<T>, value: Option<T>) -> bool {
    let is_understood = value.is_some();
    *choice = value.or(choice.take());
    is_understood
}

#[cfg(test)]
mod tests {
    use ars_bot_ports::texts;

    use super::*;

    fn text_of(text: &str) -> String {
        parse(text).unwrap().text
    }

    #[test]
    fn repo_and_ref_stay_for_live_runs() {
        let parsed = parse("agent:coding repo:acme/app ref:dev fix it effort:low\nnow").unwrap();
        assert_eq!(parsed.text, "fix it\nnow");
        assert_eq!(parsed.text_with_place, "repo:acme/app ref:dev fix it\nnow");
        assert_eq!(parse(" as it is ").unwrap().text_with_place, " as it is ");
    }

    #[test]
    fn directives_are_removed_from_the_text() {
        let parsed = parse("please agent:coding fix it effort=high model:openai/a/b now").unwrap();
        assert_eq!(parsed.text, "please fix it now");
        assert_eq!(parsed.choices.agent.as_deref(), Some("coding"));
        assert_eq!(parsed.choices.effort, Some(Effort::High));
        assert_eq!(parsed.choices.model.unwrap().model(), "a/b");
    }

    #[test]
    fn code_keeps_lines_and_blanks() {
        assert_eq!(
            text_of("agent:coding fix\n\n    def f():\n        pass\n"),
            "fix\n\n    def f():\n        pass"
        );
        assert_eq!(text_of("fix\nref:main\n  x"), "fix\n\n  x");
        assert_eq!(text_of("  just   text \n"), "  just   text \n");
    }

    #[test]
    fn similar_words_are_not_directives() {
        for text in [
            "the agent: smith",
            "subagent:coding",
            "budget:3",
            "http://x/?agent:y",
            "repo:",
        ] {
            assert_eq!(text_of(text), text);
        }
    }

    #[test]
    fn last_directive_wins() {
        assert_eq!(
            parse("agent:coding agent:general x")
                .unwrap()
                .choices
                .agent
                .as_deref(),
            Some("general")
        );
    }

    #[test]
    fn invalid_values_are_not_quoted() {
        for text in ["agent:sk-secret", "effort:sk-secret"] {
            let fault = texts::directive_fault(&parse(text).unwrap_err());
            assert!(!fault.contains("secret"), "{fault}");
        }
        let fault = texts::directive_fault(&parse("agent:nobody").unwrap_err());
        assert!(fault.contains("general, coding"));
    }

    #[test]
    fn pasted_code_has_no_directives() {
        for text in [
            "why is ref=&value and ref=(x)",
            "set model=gpt and model:\"a/b\"",
            "repo=(self.repo, 1) repo:{id} repo=\"x\"",
            "in `agent:nobody ref:main` and ``effort=max ` ``",
            "see\n```yaml\nagent:nobody effort:9\n  repo:acme/app\n```\nplease",
        ] {
            let unread = ParsedDirectives {
                text: text.into(),
                text_with_place: text.into(),
                choices: Choices::default(),
            };
            assert_eq!(parse(text), Ok(unread), "{text}");
            assert_eq!(sticky([text].into_iter()), Choices::default(), "{text}");
        }
        let parsed = parse("ref:main in `ref:x` ref=&x agent:coding").unwrap();
        assert_eq!(parsed.text, "in `ref:x` ref=&x");
        assert_eq!(parsed.choices.git_ref, RefName::parse("main").ok());
    }

    #[test]
    fn ref_is_used_or_an_error() {
        for name in [
            "fix/#12-crash",
            "feature/a+b",
            "T-1@add",
            "größe",
            "release/1.0,2",
            "HEAD",
            "a=b",
        ] {
            let parsed = parse(&format!("look ref:{name} please")).unwrap();
            assert_eq!(parsed.choices.git_ref.unwrap().as_str(), name);
            assert_eq!(parsed.text, "look please");
        }
        let long = format!("ref:{}", "x".repeat(256));
        for text in [
            "ref:--x",
            "ref:a..b x",
            "ref:[main]",
            "ref=a..b",
            "ref:main:x",
            "ref:a^",
            &long,
        ] {
            assert_eq!(parse(text), Err(DirectiveFault::Ref), "{text}");
        }
        let fault = texts::directive_fault(&DirectiveFault::Ref);
        assert!(fault.contains("`ref`"), "{fault}");
    }

    #[test]
    fn long_models_and_repositories_are_rejected() {
        for (key, prefix, max) in [
            ("model", "a/", MODEL_MAX),
            ("repo", "https://host/", REPOSITORY_MAX),
        ] {
            let directive =
                |length: usize| format!("{key}:{prefix}{} x", "m".repeat(length - prefix.len()));
            assert!(parse(&directive(max)).unwrap().text == "x", "{key}");
            let fault = parse(&directive(max + 1)).unwrap_err();
            assert_eq!(fault, DirectiveFault::TooLong { key, max });
            assert!(
                texts::directive_fault(&fault).contains(&format!("`{key}`")),
                "{key}"
            );
        }
    }

    #[test]
    fn field_access_is_not_a_repository_hint() {
        for text in [
            "call clone(repo=args.repo now",
            "set repo=args.repo",
            "ref=self.head.ref repo=cfg._repo",
        ] {
            let unread = ParsedDirectives {
                text: text.into(),
                text_with_place: text.into(),
                choices: Choices::default(),
            };
            assert_eq!(parse(text), Ok(unread), "{text}");
        }
        let hints = parse("repo=acme/app.rs ref=v1.2 x").unwrap().choices;
        assert_eq!(
            (hints.repository.as_deref(), hints.git_ref),
            (Some("acme/app.rs"), RefName::parse("v1.2").ok())
        );
        for (text, repository, git_ref) in [
            ("repo=next.js ref=release.next x", "next.js", "release.next"),
            ("repo=this-app.self ref=v1.x x", "this-app.self", "v1.x"),
        ] {
            let dotted = parse(text).unwrap().choices;
            let expected = (Some(repository), RefName::parse(git_ref).ok());
            assert_eq!(
                (dotted.repository.as_deref(), dotted.git_ref),
                expected,
                "{text}"
            );
        }
        let named = parse("repo=app ref:release.next x").unwrap().choices;
        let (repository, git_ref) = (named.repository.as_deref(), named.git_ref);
        assert_eq!(
            (repository, git_ref),
            (Some("app"), RefName::parse("release.next").ok())
        );
    }

    #[test]
    fn thread_keeps_the_last_valid_choice() {
        let turns = ["agent:coding model:a/b", "agent:nobody effort:low"];
        let choices = sticky(turns.into_iter());
        assert_eq!(choices.agent.as_deref(), Some("coding"));
        assert_eq!(choices.effort, Some(Effort::Low));
    }
}
