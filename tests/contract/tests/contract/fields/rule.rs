//! Field rules by example: values that break a rule, and values at the limits.

use ars_tests_contract::WRONG;
use serde_json::{Value, json};

/// A field's rule by example.
pub struct Rule {
    pub bad: Vec<Value>,
    pub good: Vec<Value>,
}

/// A field: path in the body, whether it is required, and the rule.
pub type Field = (String, bool, Rule);

pub fn required(path: &str, rule: Rule) -> Field {
    (path.to_owned(), true, rule)
}

pub fn optional(path: &str, rule: Rule) -> Field {
    (path.to_owned(), false, rule)
}

/// Stands for no length limit.
pub const ANY: usize = usize::MAX;
/// An integer beyond those that a double represents exactly.
pub const INEXACT: i64 = 9_007_199_254_740_993;

pub fn rule<const B: usize, const G: usize>(bad: [Value; B], good: [Value; G]) -> Rule {
    Rule {
        bad: bad.into(),
        good: good.into(),
    }
}

impl Rule {
    pub fn and_not(mut self, more: impl IntoIterator<Item = Value>) -> Self {
        self.bad.extend(more);
        self
    }
}

/// A text with `min` to `max` characters. A character limit is not a byte limit.
pub fn text(min: usize, max: usize) -> Rule {
    let too_short = (min > 0).then(|| json!(""));
    let too_long = (max < ANY).then(|| json!("é".repeat(max + 1)));
    let longest = if max < ANY {
        "é".repeat(max)
    } else {
        "é".repeat(min)
    };
    rule([json!(7), json!([WRONG])], [json!(longest)])
        .and_not(too_short.into_iter().chain(too_long))
}

pub fn run_id() -> Rule {
    let long = |length: usize| json!("x".repeat(length));
    rule(
        [
            json!(7),
            json!(""),
            json!(WRONG),
            json!("a:b"),
            json!("é"),
            long(65),
        ],
        [json!("Az9_-"), long(64)],
    )
}

pub fn generation() -> Rule {
    let long = |length: usize| json!("x".repeat(length));
    rule(
        [
            json!(7),
            json!(""),
            json!(WRONG),
            json!("g/1"),
            json!("é"),
            long(129),
        ],
        [json!("Az9_.:-"), long(128)],
    )
}

pub fn word(words: &[&str]) -> Rule {
    let title = format!("{}{}", words[0][..1].to_uppercase(), &words[0][1..]);
    let bad = [
        json!(7),
        json!(""),
        json!(WRONG),
        json!([words[0]]),
        json!(title),
    ];
    Rule {
        bad: bad.into(),
        good: words.iter().map(|word| json!(word)).collect(),
    }
}

pub fn integer(min: i64, max: i64) -> Rule {
    let bad = [
        json!("5"),
        json!([]),
        json!(min as f64 + 0.5),
        json!(min - 1),
    ];
    let mut rule = rule(bad, [json!(min), json!((min + 1) as f64)]);
    if max < i64::MAX {
        rule.good.push(json!(max));
        rule.bad.push(json!(max + 1));
    }
    rule
}

pub fn number() -> Rule {
    rule(
        [json!("5"), json!([]), json!(true)],
        [json!(-0.5), json!(1e300)],
    )
}

pub fn flag() -> Rule {
    rule([json!(0), json!("true")], [json!(true), json!(false)])
}

pub fn object() -> Rule {
    rule([json!(7), json!(WRONG), json!([])], [])
}

pub fn array() -> Rule {
    rule([json!(7), json!(WRONG), json!({})], [])
}

pub fn lease() -> Rule {
    integer(1000, 3_600_000)
}

/// Returns fields that share a rule. Their paths are separated by blanks.
pub fn each(paths: &str, field: fn(&str, Rule) -> Field, rule: fn() -> Rule) -> Vec<Field> {
    paths.split(' ').map(|path| field(path, rule())).collect()
}
