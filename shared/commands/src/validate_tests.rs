//! Input in each surface's form.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{Field, Kind, names};

const SET: Definition = Definition::write("config.set", "config:write", "Sets")
    .with_args(&[
        Field::required("scope", Kind::Choice(&["me", "channel"]), "whose"),
        Field::optional("text", Kind::Rest { max: 40 }, "text"),
    ])
    .with_options(&[
        Field::optional("afterSeq", Kind::at_least(0), "after"),
        Field::optional("dryRun", Kind::Boolean, "plan"),
        Field::optional(
            "models",
            Kind::Map {
                key: &names::AGENT,
                value: &Kind::Name(&names::MODEL),
            },
            "models",
        ),
        Field::optional("limit", Kind::within(1, 50), "most").or_integer(20),
        Field::optional("kind", Kind::Choice(&["a", "b"]), "kind").assumed("a"),
    ]);

fn checked(raw: &RawInput) -> Result<Value, String> {
    SET.validate(raw)
        .map(|input| Value::Object(input.values))
        .map_err(|error| error.to_string())
}

fn text(tail: &str) -> Result<Value, String> {
    checked(&RawInput::Text(tail.into()))
}

fn pairs(pairs: &[(&str, &str)]) -> Result<Value, String> {
    let pairs = pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    checked(&RawInput::Pairs(pairs.collect()))
}

fn object(value: Value) -> Result<Value, String> {
    let Value::Object(object) = value else {
        unreachable!("tests pass objects")
    };
    checked(&RawInput::Object(object))
}

#[test]
fn every_form_gives_the_same_input() {
    let expected = json!({"scope": "me", "text": "be kind", "afterSeq": 5, "dryRun": true, "models": {"coding": "a/b"}, "limit": 20});
    let expected = Ok(expected);
    for tail in [
        "me be kind --after-seq 5 --dry-run --models.coding a/b",
        "--dry-run --after-seq=5 me \"be kind\" --models.coding=a/b",
        "--dry-run=true --after-seq 5 --models.coding a/b -- me be kind",
    ] {
        assert_eq!(text(tail), expected, "{tail}");
    }
    let tokens = [
        "me",
        "be kind",
        "--after-seq",
        "5",
        "--dry-run",
        "--models.coding",
        "a/b",
    ];
    assert_eq!(
        checked(&RawInput::Tokens(tokens.map(str::to_owned).to_vec())),
        expected
    );
    for (after, dry) in [("after-seq", "dry-run"), ("afterSeq", "dryRun")] {
        let given = [
            ("scope", "me"),
            ("text", "be kind"),
            (after, "5"),
            (dry, "true"),
            ("models.coding", "a/b"),
        ];
        assert_eq!(pairs(&given), expected);
    }
    let common = json!({"scope": "me", "text": "be kind", "afterSeq": 5, "dryRun": true});
    let mut nested = common.clone();
    nested["models"] = json!({"coding": "a/b"});
    assert_eq!(object(nested), expected);
    let mut dotted = common;
    dotted["models.coding"] = json!("a/b");
    assert_eq!(object(dotted), expected);
}

#[test]
fn defaults_are_filled_in_and_documented_ones_are_not() {
    assert_eq!(
        text("channel"),
        Ok(json!({"scope": "channel", "limit": 20}))
    );
    assert_eq!(
        object(json!({"scope": "me", "text": ""})),
        Ok(json!({"scope": "me", "text": "", "limit": 20}))
    );
    assert_eq!(
        text("me \"\""),
        Ok(json!({"scope": "me", "text": "", "limit": 20}))
    );
    assert_eq!(
        text("me --no-dry-run"),
        Ok(json!({"scope": "me", "dryRun": false, "limit": 20}))
    );
}

#[test]
fn negative_numbers_are_arguments() {
    assert_eq!(
        text("me -5 -"),
        Ok(json!({"scope": "me", "text": "-5 -", "limit": 20}))
    );
}

#[test]
fn each_fault_of_a_message_names_its_field() {
    for (tail, expected) in [
        ("", "scope is missing"),
        ("you", "scope must be one of me, channel"),
        ("me --nope", "--nope is not an option of this command"),
        (
            "me --after-sec 5",
            "--after-sec is not an option of this command: did you mean --after-seq?",
        ),
        (
            "me --afterSeq 5",
            "--afterSeq is not an option of this command",
        ),
        (
            "me --models a/b",
            "--models is not an option of this command",
        ),
        ("me -x", "-x is not an option of this command"),
        (
            "me -after-seq 5",
            "-after-seq is not an option of this command",
        ),
        (
            "me ---after-seq=5",
            "---after-seq is not an option of this command",
        ),
        ("me --after-seq", "afterSeq needs a value"),
        ("me --after-seq --dry-run", "afterSeq needs a value"),
        (
            "me --after-seq -5",
            "afterSeq must be an integer of at least 0",
        ),
        ("me --after-seq 5 --after-seq 5", "afterSeq is given twice"),
        ("me --dry-run --no-dry-run", "dryRun is given twice"),
        ("me --dry-run=yes", "dryRun must be true or false"),
        (
            "me --no-dry-run=true",
            "--no-dry-run is not an option of this command",
        ),
        (
            "me --models.coding a/b --models.coding a/b",
            "models.coding is given twice",
        ),
        ("me \"open", "a quotation mark is not closed"),
        (
            "me --ghp_abcdefghijklmnop",
            "there is an unknown option, which is not repeated here",
        ),
    ] {
        assert_eq!(text(tail), Err(expected.to_owned()), "{tail}");
    }
}

#[test]
fn each_fault_of_a_query_or_body_names_its_field() {
    for (given, expected) in [
        (
            &[("scope", "me"), ("scope", "me")] as &[_],
            "scope is given twice",
        ),
        (
            &[("scope", "me"), ("after-seq", "1"), ("afterSeq", "1")],
            "afterSeq is given twice",
        ),
        (
            &[("scope", "me"), ("models", "a/b")],
            "models must be given as `<name>.<key>`",
        ),
        (
            &[("scope", "me"), ("x", "1")],
            "x is not an option of this command",
        ),
        (
            &[("scope.x", "me")],
            "scope.x is not an option of this command",
        ),
    ] {
        assert_eq!(pairs(given), Err(expected.to_owned()), "{given:?}");
    }
    for (body, expected) in [
        (
            json!({"scope": "me", "after-seq": 1}),
            "after-seq is not an option of this command",
        ),
        (json!({"scope": null}), "scope must be one of me, channel"),
        (
            json!({"scope": "me", "models": "a/b"}),
            "models must be an object",
        ),
        (
            json!({"scope": "me", "models": {"coding": "a/b"}, "models.coding": "a/b"}),
            "models.coding is given twice",
        ),
        (
            json!({"scope": "me", "models": {"Coding": "a/b"}}),
            "a key of models must be 1 to 64 lower case letters, digits, `_` or `-`",
        ),
        (
            json!({"scope": "me", "models.": "a/b"}),
            "a key of models must be 1 to 64 lower case letters, digits, `_` or `-`",
        ),
    ] {
        assert_eq!(object(body.clone()), Err(expected.to_owned()), "{body}");
    }
}

#[test]
fn surplus_arguments_are_rejected() {
    const LIST: Definition = Definition::read("runs.list", "runs:read", "Lists");
    let error = LIST.validate(&RawInput::Text("please".into())).unwrap_err();
    assert_eq!(error, InvalidInput::Surplus(0));
    assert_eq!(error.to_string(), "this command has no arguments");
}

#[test]
fn target_is_read_before_validation() {
    assert_eq!(
        SET.peek(&RawInput::Text("anyone".into()), "scope")
            .as_deref(),
        Some("anyone")
    );
    assert_eq!(SET.peek(&RawInput::Text("--nope".into()), "scope"), None);
}

proptest! {
    /// No fault contains a value: every canary stays out of the text.
    #[test]
    fn no_fault_repeats_a_value(
        words in prop::collection::vec(
            prop_oneof![
                Just("me".to_owned()), Just("--after-seq".to_owned()), Just("--models.coding".to_owned()),
                Just("canary_value".to_owned()), Just("--kind=canary_value".to_owned()), Just("--".to_owned()),
                Just("--canary_value".to_owned()), Just("\"canary_value".to_owned()),
            ],
            0..8,
        )
    ) {
        if let Err(error) = text(&words.join(" ")) {
            prop_assert!(!error.contains("canary"), "{}", error);
        }
    }
}
