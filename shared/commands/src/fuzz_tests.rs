//! Random messages and query strings against the command grammar.
//!
//! The strategies mix arbitrary text with the fragments that the grammar gives a meaning to, so
//! that most inputs get past the first check. Not here: requests over a connection
//! (`containers/bot/http/tests/http/api/property.rs`).

use proptest::prelude::*;
use serde_json::Value;

use crate::{
    Definition, InvalidInput, RawInput, Recognized, Registry,
    fuzz_definitions::{LIST, SET},
    tokens::tokens,
};

/// Inputs per property, unless `PROPTEST_CASES` is set.
const CASES: u32 = 2_000;

/// Generates a message part, without the blank that follows it.
fn fragment() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "runs",
        "list",
        "config",
        "set",
        "help",
        "-h",
        "--help",
        "--",
        "-",
        "me",
        "channel",
        "all",
        "--status",
        "--status=all",
        "--since-ms",
        "--limit=5",
        "--before-id=r1",
        "--dry-run",
        "--no-dry-run",
        "--ratio=1.5",
        "--models.coding=a/b",
        "--models.coding",
        "a/b",
        "5",
        "-1",
        "1e3",
        "1e999",
        "NaN",
        "9007199254740993",
        "\"",
        "'",
        "\u{201c}",
        "\u{2019}",
        "\"a b\"",
        "--text='",
        "\u{a0}",
        "\u{0}",
        "\n",
    ];
    prop_oneof![
        6 => prop::sample::select(WORDS).prop_map(str::to_owned),
        1 => "\\PC{0,12}",
        1 => any::<String>(),
    ]
}

fn message() -> impl Strategy<Value = String> {
    let blank = prop::sample::select(&[" ", "", "\t\n", "\u{2003}"][..]);
    prop::collection::vec((fragment(), blank), 0..10).prop_map(|parts| {
        parts
            .into_iter()
            .flat_map(|(part, blank)| [part, blank.to_owned()])
            .collect()
    })
}

fn pairs() -> impl Strategy<Value = Vec<(String, String)>> {
    const NAMES: &[&str] = &[
        "status",
        "sinceMs",
        "since-ms",
        "limit",
        "beforeId",
        "before-id",
        "scope",
        "text",
        "dryRun",
        "dry-run",
        "ratio",
        "models",
        "models.coding",
        "models.",
        "",
        ".",
        "Since-Ms",
    ];
    let name =
        prop_oneof![9 => prop::sample::select(NAMES).prop_map(str::to_owned), 1 => "\\PC{0,8}"];
    prop::collection::vec((name, fragment()), 0..5)
}

/// Valid input is in normal form: as a JSON object it is valid, and stays the same.
fn is_normal(definition: &Definition, raw: &RawInput) -> Result<(), TestCaseError> {
    let Ok(input) = definition.validate(raw) else {
        return Ok(());
    };
    let again = definition.validate(&RawInput::Object(input.values.clone()));
    prop_assert_eq!(
        again.map(|input| input.values),
        Ok(input.values),
        "{:?}",
        raw
    );
    Ok(())
}

/// Returns a property's configuration. The default reads `PROPTEST_CASES`.
fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() {
        config.cases
    } else {
        CASES
    };
    ProptestConfig { cases, ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn message_is_prose_or_begins_with_its_command(text in message()) {
        let registry = Registry::new(&[&LIST, &SET], &[]).unwrap();
        let recognized = registry.recognize(&text);
        prop_assert_eq!(&registry.recognize(&format!(" \n{text}\t ")), &recognized);
        let Some(Recognized::Command { definition, tail }) = recognized else { return Ok(()) };
        let mut words = text.split_whitespace();
        prop_assert_eq!(words.next(), Some(definition.group()));
        prop_assert_eq!(words.next(), Some(definition.verb()));
        prop_assert!(text.trim_end().ends_with(&tail), "{:?} {:?}", text, tail);
        is_normal(definition, &RawInput::Text(tail))?;
    }

    /// Quoted words come back as they were.
    #[test]
    fn quoted_words_survive(words in prop::collection::vec(any::<String>(), 0..6)) {
        let is_double = |c: char| matches!(c, '"' | '\u{201c}'..='\u{201f}' | '\u{ab}' | '\u{bb}');
        let is_single = |c: char| ('\u{2018}'..='\u{201b}').contains(&c);
        let words: Vec<String> =
            words.iter().map(|word| word.replace(|c| is_double(c) || is_single(c), "_")).collect();
        let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        prop_assert_eq!(tokens(&quoted.join(" ")), Ok(words));
    }

    #[test]
    fn tail_is_normal_or_a_fault(text in message()) {
        is_normal(&SET, &RawInput::Text(text.clone()))?;
        is_normal(&LIST, &RawInput::Text(text))?;
    }

    #[test]
    fn query_is_normal_or_a_fault(pairs in pairs()) {
        is_normal(&SET, &RawInput::Pairs(pairs.clone()))?;
        is_normal(&LIST, &RawInput::Pairs(pairs))?;
    }

    /// A fault is the same in both spellings, and a foreign name is never accepted.
    #[test]
    fn both_spellings_of_a_query_are_equal(pairs in pairs()) {
        let camel = |name: &str| match name {
            "since-ms" => "sinceMs".to_owned(),
            "before-id" => "beforeId".to_owned(),
            other => other.to_owned(),
        };
        let camel: Vec<_> = pairs.iter().map(|(name, value)| (camel(name), value.clone())).collect();
        let values = |pairs: Vec<(String, String)>| {
            LIST.validate(&RawInput::Pairs(pairs)).map(|input| Value::Object(input.values))
        };
        let found = values(pairs);
        let is_known = !matches!(found, Err(InvalidInput::Unknown(_)));
        prop_assert_eq!(values(camel), found.clone());
        prop_assert!(is_known || found.is_err());
    }
}
