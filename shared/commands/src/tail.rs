//! The words after a command on a text surface: arguments by position, options in kebab-case.

use serde_json::{Map, Value};

use crate::{Definition, Field, InvalidInput, Kind, nested::put, raw::Named, spelling};

/// Ends the options in a tail.
const END_OF_OPTIONS: &str = "--";
/// Starts an option.
const PREFIX: &str = "--";
/// Option prefix that turns a boolean off.
const NO: &str = "no-";

/// Reads the words into named values.
pub(crate) fn read_tokens(
    definition: &Definition,
    tokens: Vec<String>,
) -> Result<Named, InvalidInput> {
    let mut named = Map::new();
    let mut positional = Vec::new();
    let mut are_options_over = false;
    let mut words = tokens.into_iter().peekable();
    while let Some(word) = words.next() {
        if are_options_over || !is_option(&word) {
            positional.push(word);
        } else if word == END_OF_OPTIONS {
            are_options_over = true;
        } else {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let bare = name
                .strip_prefix(PREFIX)
                .filter(|bare| !bare.starts_with('-'));
            let bare = bare.ok_or_else(|| InvalidInput::Unknown(spelling::shown(name)))?;
            let option = find(definition, bare, value.is_some())?;
            let value = match (value, option.switch) {
                (None, Some(switch)) => Value::Bool(switch),
                (Some(value), _) => Value::String(value),
                (None, None) => {
                    let next = words.next_if(|next| !next.starts_with(PREFIX));
                    Value::String(next.ok_or(InvalidInput::NoValue(option.field.name))?)
                }
            };
            put(&mut named, option.field, option.key.as_deref(), value)?;
        }
    }
    place(definition, positional, &mut named)?;
    Ok(named)
}

/// Returns whether any word asks for help.
pub(crate) fn asks_for_help(tokens: &[String]) -> bool {
    tokens
        .iter()
        .take_while(|word| *word != END_OF_OPTIONS)
        .any(|word| word == "--help" || word == "-h")
}

/// Returns whether a word is an option. A lone hyphen and a negative number are arguments.
fn is_option(word: &str) -> bool {
    let Some(rest) = word.strip_prefix('-') else {
        return false;
    };
    !rest.is_empty() && !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.')
}

/// An option found by name on a text surface.
struct Found {
    field: &'static Field,
    /// The key within a map.
    key: Option<String>,
    /// The value that the name alone stands for.
    switch: Option<bool>,
}

fn find(definition: &Definition, name: &str, has_value: bool) -> Result<Found, InvalidInput> {
    let unknown = || {
        let Some(given) = spelling::shown(name).map(|name| format!("{PREFIX}{name}")) else {
            return InvalidInput::Unknown(None);
        };
        let names = definition
            .options
            .iter()
            .map(|field| spelling::kebab(field.name));
        match names
            .into_iter()
            .find(|own| spelling::is_one_edit(name, own))
        {
            Some(meant) => InvalidInput::MistypedOption {
                given,
                meant: format!("{PREFIX}{meant}"),
            },
            None => InvalidInput::Unknown(Some(given)),
        }
    };
    let (base, key) = match name.split_once('.') {
        Some((base, key)) => (base, Some(key.to_owned())),
        None => (name, None),
    };
    for field in definition.options {
        let own = spelling::kebab(field.name);
        match field.kind {
            Kind::Map { .. } if own == base && key.is_some() => {
                return Ok(Found {
                    field,
                    key,
                    switch: None,
                });
            }
            Kind::Map { .. } => {}
            Kind::Boolean if own == name => {
                return Ok(Found {
                    field,
                    key: None,
                    switch: Some(true),
                });
            }
            Kind::Boolean if !has_value && name.strip_prefix(NO) == Some(&own) => {
                return Ok(Found {
                    field,
                    key: None,
                    switch: Some(false),
                });
            }
            Kind::Boolean => {}
            _ if own == name => {
                return Ok(Found {
                    field,
                    key: None,
                    switch: None,
                });
            }
            _ => {}
        }
    }
    Err(unknown())
}

/// Gives the words without a name to the arguments.
fn place(
    definition: &Definition,
    positional: Vec<String>,
    named: &mut Named,
) -> Result<(), InvalidInput> {
    let mut words = positional.into_iter();
    for field in definition.args {
        if field.kind.is_rest() {
            let rest: Vec<String> = words.by_ref().collect();
            if !rest.is_empty() {
                put(named, field, None, Value::String(rest.join(" ")))?;
            }
        } else if let Some(word) = words.next() {
            put(named, field, None, Value::String(word))?;
        }
    }
    match words.next() {
        None => Ok(()),
        Some(_surplus) => Err(InvalidInput::Surplus(definition.args.len())),
    }
}
