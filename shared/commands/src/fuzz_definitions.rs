//! Definitions with every kind of field, for the property tests.
//! The targets in `fuzz/` include this file.

use crate::{Definition, Field, Kind, names};

/// A command with options only.
pub const LIST: Definition = Definition::read("runs.list", "runs:read", "Lists").with_options(&[
    Field::optional("status", Kind::Choice(&["active", "all"]), "status").or("active"),
    Field::optional("sinceMs", Kind::at_least(0), "since"),
    Field::optional("limit", Kind::within(1, 200), "most").or_integer(50),
    Field::optional("beforeId", Kind::Name(&names::RUN), "before"),
]);
/// A command with arguments, the last of which takes the rest of a message.
pub const SET: Definition = Definition::write("config.set", "config:write", "Sets")
    .with_args(&[
        Field::required("scope", Kind::Choice(&["me", "channel"]), "whose"),
        Field::optional("text", Kind::Rest { max: 40 }, "text"),
    ])
    .with_options(&[
        Field::optional("dryRun", Kind::Boolean, "plan"),
        Field::optional("ratio", Kind::Duration, "ratio"),
        Field::optional(
            "models",
            Kind::Map {
                key: &names::AGENT,
                value: &Kind::Name(&names::MODEL),
            },
            "models",
        ),
    ]);
