//! Checks a definition table, at compile time and when a registry is built.

use crate::{
    Assumed, Definition, Fault, Field, Kind, Presence,
    const_text::{equal, is_camel, is_word, position, starts_with},
    field::MAX_SAFE,
};

/// Names that surfaces use for themselves.
const RESERVED: [&str; 3] = ["json", "help", "server"];

/// Checks a table.
///
/// # Errors
///
/// Returns the first fault.
pub const fn check(definitions: &[&'static Definition]) -> Result<(), Fault> {
    let mut at = 0;
    while at < definitions.len() {
        let definition = definitions[at];
        let mut before = 0;
        while before < at {
            if equal(definitions[before].id, definition.id) {
                return Err(Fault::Duplicate(definition.id));
            }
            before += 1;
        }
        if let Err(fault) = check_one(definition) {
            return Err(fault);
        }
        at += 1;
    }
    Ok(())
}

const fn check_one(definition: &'static Definition) -> Result<(), Fault> {
    let id = definition.id;
    let bytes = id.as_bytes();
    let dot = position(bytes, b'.');
    if dot == bytes.len() || !is_word(bytes, 0, dot) || !is_word(bytes, dot + 1, bytes.len()) {
        return Err(Fault::Id(id));
    }
    let (group, verb) = bytes.split_at(dot);
    if starts_with(verb, b".help") && verb.len() == b".help".len() {
        return Err(Fault::Id(id));
    }
    let action = definition.action.as_bytes();
    let colon = position(action, b':');
    let (owner, kind) = action.split_at(colon);
    let is_own = owner.len() == group.len() && starts_with(owner, group) && kind.len() > 1;
    let reads = kind.len() == b":read".len() && starts_with(kind, b":read");
    if !is_own || reads == definition.effect.is_write() {
        return Err(Fault::Action(id));
    }
    let mut is_optional = false;
    let mut at = 0;
    while at < definition.args.len() {
        let field = &definition.args[at];
        if field.is_required() && is_optional {
            return Err(Fault::Order(id));
        }
        is_optional = !field.is_required();
        if field.kind.is_rest() && at + 1 < definition.args.len() {
            return Err(Fault::Rest(id));
        }
        if matches!(field.kind, Kind::Boolean | Kind::Map { .. }) {
            return Err(Fault::Argument(id));
        }
        at += 1;
    }
    let mut at = 0;
    while at < definition.options.len() {
        if definition.options[at].kind.is_rest() {
            return Err(Fault::Rest(id));
        }
        at += 1;
    }
    check_fields(definition)
}

const fn check_fields(definition: &'static Definition) -> Result<(), Fault> {
    let id = definition.id;
    let count = definition.args.len() + definition.options.len();
    let mut at = 0;
    while at < count {
        let field = nth(definition, at);
        if !is_camel(field.name) || is_reserved(field.name) {
            return Err(Fault::FieldName(id));
        }
        let mut before = 0;
        while before < at {
            if equal(nth(definition, before).name, field.name) {
                return Err(Fault::RepeatedField(id));
            }
            before += 1;
        }
        if !has_values(&field.kind) {
            return Err(Fault::Bounds(id));
        }
        if !is_default_valid(field) {
            return Err(Fault::Default(id));
        }
        at += 1;
    }
    Ok(())
}

const fn nth(definition: &'static Definition, at: usize) -> &'static Field {
    if at < definition.args.len() {
        &definition.args[at]
    } else {
        &definition.options[at - definition.args.len()]
    }
}

const fn is_reserved(name: &str) -> bool {
    let mut at = 0;
    while at < RESERVED.len() {
        if equal(RESERVED[at], name) {
            return true;
        }
        at += 1;
    }
    false
}

const fn has_values(kind: &Kind) -> bool {
    match kind {
        Kind::Text { min, max } => *min <= *max && *max > 0,
        Kind::Rest { max } => *max > 0,
        Kind::Integer { min, max } => *min <= *max && *max <= MAX_SAFE && *min >= -MAX_SAFE,
        Kind::Choice(words) => !words.is_empty(),
        Kind::Map { value, .. } => {
            !matches!(value, Kind::Map { .. } | Kind::Rest { .. }) && has_values(value)
        }
        Kind::Duration | Kind::Boolean | Kind::Name(_) => true,
    }
}

const fn is_default_valid(field: &Field) -> bool {
    let (Presence::Default(value) | Presence::Documented(value)) = field.presence else {
        return true;
    };
    match (field.kind, value) {
        (Kind::Choice(words), Assumed::Word(word)) => {
            let mut at = 0;
            while at < words.len() {
                if equal(words[at], word) {
                    return true;
                }
                at += 1;
            }
            false
        }
        (Kind::Integer { min, max }, Assumed::Integer(value)) => min <= value && value <= max,
        (Kind::Duration, Assumed::Integer(value)) => value >= 0,
        (Kind::Text { .. } | Kind::Name(_), Assumed::Word(_)) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names;

    const TEXT: Kind = Kind::Text { min: 1, max: 9 };
    const SOUND: Definition = Definition::read("runs.list", "runs:read", "Lists");

    /// Leaks the definition, because a registry holds static definitions.
    fn checked(definition: Definition) -> Result<(), Fault> {
        let definition: &'static Definition = Box::leak(Box::new(definition));
        check(&[&SOUND, definition])
    }

    fn with_options(fields: &[Field]) -> Result<(), Fault> {
        let options = Box::leak(fields.to_vec().into_boxed_slice());
        checked(Definition::write("runs.stop", "runs:write", "Stops").with_options(options))
    }

    fn with_args(fields: &[Field]) -> Result<(), Fault> {
        let args = Box::leak(fields.to_vec().into_boxed_slice());
        checked(Definition::write("runs.stop", "runs:write", "Stops").with_args(args))
    }

    #[test]
    fn ids_are_group_and_verb() {
        for id in [
            "runs",
            "runs.",
            ".list",
            "Runs.list",
            "runs.list.all",
            "runs.help",
            "runs_a.list",
            "",
            "a b.c",
        ] {
            assert_eq!(
                checked(Definition { id, ..SOUND }),
                Err(Fault::Id(id)),
                "{id}"
            );
        }
        assert_eq!(checked(SOUND), Err(Fault::Duplicate("runs.list")));
        assert_eq!(
            checked(Definition {
                id: "runs.helper",
                ..SOUND
            }),
            Ok(())
        );
    }

    #[test]
    fn action_matches_group_and_effect() {
        for action in [
            "run:read",
            "runs",
            "runs:",
            "friction:read",
            "runs:write",
            "runsread",
        ] {
            let definition = Definition {
                id: "runs.get",
                action,
                ..SOUND
            };
            assert_eq!(
                checked(definition),
                Err(Fault::Action("runs.get")),
                "{action}"
            );
        }
        assert_eq!(
            checked(Definition::write("repo.test", "repo:exec", "Tests")),
            Ok(())
        );
        assert!(checked(Definition::write("repo.test", "repo:read", "Tests")).is_err());
    }

    #[test]
    fn arguments_are_ordered() {
        let (one, two) = (
            Field::required("one", TEXT, ""),
            Field::optional("two", TEXT, ""),
        );
        let rest = Field::optional("rest", Kind::Rest { max: 9 }, "");
        assert_eq!(with_args(&[one, two, rest]), Ok(()));
        assert_eq!(with_args(&[two, one]), Err(Fault::Order("runs.stop")));
        assert_eq!(with_args(&[rest, two]), Err(Fault::Rest("runs.stop")));
        assert_eq!(with_options(&[rest]), Err(Fault::Rest("runs.stop")));
        assert_eq!(
            with_args(&[Field::optional("b", Kind::Boolean, "")]),
            Err(Fault::Argument("runs.stop"))
        );
    }

    #[test]
    fn names_are_camel_case_and_unique() {
        for name in [
            "",
            "after-seq",
            "AfterSeq",
            "after_seq",
            "after.seq",
            "1a",
            "json",
            "help",
            "server",
        ] {
            let field = Field::optional(name, TEXT, "");
            assert_eq!(
                with_options(&[field]),
                Err(Fault::FieldName("runs.stop")),
                "{name}"
            );
        }
        let (field, other) = (
            Field::optional("afterSeq", TEXT, ""),
            Field::optional("limit", TEXT, ""),
        );
        assert_eq!(with_options(&[field, other]), Ok(()));
        assert_eq!(
            with_options(&[field, other, field]),
            Err(Fault::RepeatedField("runs.stop"))
        );
    }

    #[test]
    fn kinds_have_values_and_defaults_are_among_them() {
        const NESTED: Kind = Kind::Map {
            key: &names::AGENT,
            value: &TEXT,
        };
        let optional = |kind| Field::optional("x", kind, "");
        for kind in [
            Kind::Text { min: 2, max: 1 },
            Kind::within(2, 1),
            Kind::within(0, MAX_SAFE + 1),
            Kind::Choice(&[]),
            Kind::Map {
                key: &names::AGENT,
                value: &NESTED,
            },
        ] {
            assert_eq!(
                with_options(&[optional(kind)]),
                Err(Fault::Bounds("runs.stop")),
                "{kind:?}"
            );
        }
        let choice = Kind::Choice(&["soft", "hard"]);
        for field in [
            optional(choice).or("harder"),
            optional(choice).or_integer(1),
            optional(Kind::within(1, 5)).or_integer(6),
            optional(Kind::Boolean).or("true"),
        ] {
            assert_eq!(
                with_options(&[field]),
                Err(Fault::Default("runs.stop")),
                "{field:?}"
            );
        }
        let sound = [
            optional(choice).assumed("hard"),
            Field::optional("y", Kind::within(1, 5), "").or_integer(5),
        ];
        assert_eq!(with_options(&sound), Ok(()));
    }
}
