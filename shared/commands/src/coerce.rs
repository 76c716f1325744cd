//! Coerces a single value: numbers may be text, booleans the texts `true` and `false`.

use serde_json::{Number, Value};

use crate::{InvalidInput, Kind, field::MAX_SAFE, spelling};

/// Returns the value in normal form.
///
/// # Errors
///
/// Returns the field with the rule, never the value.
pub(crate) fn coerce(field: &str, kind: &Kind, value: Value) -> Result<Value, InvalidInput> {
    let invalid = || InvalidInput::value(field, rule(kind));
    match kind {
        Kind::Text { min, max } => text(value, *min, *max).ok_or_else(invalid),
        Kind::Rest { max } => text(value, 0, *max).ok_or_else(invalid),
        Kind::Integer { min, max } => {
            let number = integer(&value).filter(|number| (*min..=*max).contains(number));
            number.map(Value::from).ok_or_else(invalid)
        }
        Kind::Duration => duration(&value).map(Value::Number).ok_or_else(invalid),
        Kind::Boolean => match value {
            Value::Bool(_) => Ok(value),
            Value::String(word) if word == "true" => Ok(Value::Bool(true)),
            Value::String(word) if word == "false" => Ok(Value::Bool(false)),
            _ => Err(invalid()),
        },
        Kind::Choice(words) => {
            let is_choice = value.as_str().is_some_and(|word| words.contains(&word));
            if is_choice { Ok(value) } else { Err(invalid()) }
        }
        Kind::Name(name) => value
            .as_str()
            .and_then(name.parse)
            .map(Value::String)
            .ok_or_else(invalid),
        Kind::Map { key, value: kind } => {
            let Value::Object(members) = value else {
                return Err(invalid());
            };
            let members = members.into_iter().map(|(name, value)| {
                let name = (key.parse)(&name)
                    .ok_or_else(|| InvalidInput::value(format!("a key of {field}"), key.rule))?;
                // A parsed key can still be long.
                let shown = spelling::shown(&name)
                    .map_or_else(|| field.to_owned(), |key| format!("{field}.{key}"));
                Ok((name, coerce(&shown, kind, value)?))
            });
            members.collect::<Result<_, _>>().map(Value::Object)
        }
    }
}

/// Returns a kind's rule, phrased to follow "must".
pub(crate) fn rule(kind: &Kind) -> String {
    match kind {
        Kind::Text { min: 0, max } | Kind::Rest { max } => {
            format!("be text of at most {max} characters")
        }
        Kind::Text { min, max } => format!("be text of {min} to {max} characters"),
        Kind::Integer { min, max: MAX_SAFE } => format!("be an integer of at least {min}"),
        Kind::Integer { min, max } => format!("be an integer from {min} to {max}"),
        Kind::Duration => "be a number of at least 0".to_owned(),
        Kind::Boolean => "be true or false".to_owned(),
        Kind::Choice([one]) => format!("be {one}"),
        Kind::Choice(words) => format!("be one of {}", words.join(", ")),
        Kind::Name(name) => name.rule.to_owned(),
        Kind::Map { .. } => "be an object".to_owned(),
    }
}

fn text(value: Value, min: usize, max: usize) -> Option<Value> {
    let length = value.as_str()?.chars().count();
    (min..=max).contains(&length).then_some(value)
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => {
            let whole = number
                .as_f64()
                .filter(|float| float.fract() == 0.0 && float.abs() <= MAX_SAFE as f64);
            number.as_i64().or_else(|| whole.map(|float| float as i64))
        }
        Value::String(text) => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            is_number.then(|| text.parse().ok()).flatten()
        }
        _ => None,
    }
}

fn duration(value: &Value) -> Option<Number> {
    let number = match value {
        Value::Number(number) => number.clone(),
        Value::String(text) if is_decimal(text) => serde_json::from_str(text).ok()?,
        _ => return None,
    };
    number
        .as_f64()
        .filter(|float| float.is_finite() && *float >= 0.0)
        .map(|_| number)
}

/// Returns whether the text is a JSON number without an exponent.
fn is_decimal(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::names;

    const AGENTS: Kind = Kind::Map {
        key: &names::AGENT,
        value: &Kind::Name(&names::MODEL),
    };

    #[test]
    fn values_are_normalized() {
        for (kind, value, expected) in [
            (Kind::within(-5, 9), json!("-5"), json!(-5)),
            (Kind::within(0, 9), json!(5.0), json!(5)),
            (Kind::within(0, 9), json!("07"), json!(7)),
            (Kind::Duration, json!("1.5"), json!(1.5)),
            (Kind::Duration, json!(0), json!(0)),
            (Kind::Boolean, json!("true"), json!(true)),
            (Kind::Boolean, json!(false), json!(false)),
            (
                Kind::Choice(&["soft", "hard"]),
                json!("soft"),
                json!("soft"),
            ),
            (
                Kind::Name(&names::REPOSITORY),
                json!("Acme/App.git"),
                json!("acme/app"),
            ),
            (Kind::Text { min: 0, max: 2 }, json!("é!"), json!("é!")),
            (AGENTS, json!({"coding": "a/b"}), json!({"coding": "a/b"})),
        ] {
            assert_eq!(coerce("x", &kind, value.clone()), Ok(expected), "{value}");
        }
    }

    #[test]
    fn rule_is_named_and_the_value_is_not() {
        for (kind, value) in [
            (Kind::within(0, 9), json!(10)),
            (Kind::within(0, 9), json!("canary")),
            (Kind::within(0, 9), json!(1.5)),
            (Kind::within(0, 9), json!("1e1")),
            (Kind::within(0, 9), json!("+1")),
            (Kind::within(0, 9), json!("")),
            (Kind::at_least(0), json!(1e300)),
            (Kind::Duration, json!("-1")),
            (Kind::Duration, json!("canary")),
            (Kind::Duration, json!(".")),
            (Kind::Boolean, json!("yes")),
            (Kind::Boolean, json!(1)),
            (Kind::Choice(&["soft"]), json!("canary")),
            (Kind::Name(&names::RUN), json!("canary canary")),
            (Kind::Name(&names::RUN), json!(null)),
            (Kind::Text { min: 1, max: 5 }, json!("canary")),
            (Kind::Text { min: 1, max: 5 }, json!("")),
            (Kind::Text { min: 1, max: 5 }, json!(["canary"])),
            (AGENTS, json!("canary")),
            (AGENTS, json!({"Canary!": "a/b"})),
            (AGENTS, json!({"coding": "canary"})),
        ] {
            let error = coerce("field", &kind, value.clone())
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("field") && !error.to_lowercase().contains("canary"),
                "{value}: {error}"
            );
        }
    }
}
