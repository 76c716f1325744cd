//! Input by name: pairs in a query string and members in a JSON object. A dotted name is a map key.

use serde_json::{Map, Value, map::Entry};

use crate::{Definition, Field, InvalidInput, Kind, raw::Named, spelling};

/// Reads pairs with names in kebab-case or camelCase.
pub(crate) fn either_spelling(
    definition: &Definition,
    pairs: &[(String, String)],
) -> Result<Named, InvalidInput> {
    let mut named = Map::new();
    for (name, value) in pairs {
        let found = split(definition, name, |field, name| {
            field.name == name || spelling::kebab(field.name) == name
        });
        let (field, key) = found.ok_or_else(|| InvalidInput::Unknown(spelling::shown(name)))?;
        if key.is_none() && matches!(field.kind, Kind::Map { .. }) {
            return Err(InvalidInput::value(
                field.name,
                "be given as `<name>.<key>`",
            ));
        }
        put(&mut named, field, key, Value::String(value.clone()))?;
    }
    Ok(named)
}

/// Reads members with names in camelCase.
pub(crate) fn camel_only(
    definition: &Definition,
    object: &Map<String, Value>,
) -> Result<Named, InvalidInput> {
    let mut named = Map::new();
    for (name, value) in object {
        let found = split(definition, name, |field, name| field.name == name);
        let (field, key) = found.ok_or_else(|| InvalidInput::Unknown(spelling::shown(name)))?;
        match (field.kind, key, value) {
            (Kind::Map { .. }, None, Value::Object(members)) => {
                named
                    .entry(field.name)
                    .or_insert_with(|| Value::Object(Map::new()));
                for (key, value) in members {
                    put(&mut named, field, Some(key), value.clone())?;
                }
            }
            (Kind::Map { .. }, None, _) => {
                return Err(InvalidInput::value(field.name, "be an object"));
            }
            (_, key, value) => put(&mut named, field, key, value.clone())?,
        }
    }
    Ok(named)
}

/// Returns the field with a name, and the key after a dot.
fn split<'n>(
    definition: &Definition,
    name: &'n str,
    is: impl Fn(&Field, &str) -> bool,
) -> Option<(&'static Field, Option<&'n str>)> {
    if let Some(field) = definition.fields().find(|field| is(field, name)) {
        return Some((field, None));
    }
    let (base, key) = name.split_once('.')?;
    let field = definition
        .fields()
        .find(|field| matches!(field.kind, Kind::Map { .. }) && is(field, base))?;
    Some((field, Some(key)))
}

/// Stores a value, unless there already is a value.
pub(crate) fn put(
    named: &mut Named,
    field: &'static Field,
    key: Option<&str>,
    value: Value,
) -> Result<(), InvalidInput> {
    let Some(key) = key else {
        return match named.entry(field.name) {
            Entry::Vacant(entry) => {
                entry.insert(value);
                Ok(())
            }
            Entry::Occupied(_) => Err(InvalidInput::Repeated(field.name.into())),
        };
    };
    let members = named
        .entry(field.name)
        .or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(members) = members else {
        return Err(InvalidInput::Repeated(field.name.into()));
    };
    match members.entry(key) {
        Entry::Vacant(entry) => {
            entry.insert(value);
            Ok(())
        }
        Entry::Occupied(_) => {
            let shown = spelling::shown(key).map_or(String::new(), |key| format!(".{key}"));
            Err(InvalidInput::Repeated(format!("{}{shown}", field.name)))
        }
    }
}
