//! The property that the targets check, and the property tests' definitions.
#![forbid(unsafe_code)]

#[path = "../../shared/commands/src/fuzz_definitions.rs"]
mod definitions;

use ars_commands::{Definition, Field, Kind, RawInput, names};
use serde_json::{Map, Value};

pub use definitions::{LIST, SET};

/// Checks that a command's input is rejected, or is in its normal form.
///
/// # Panics
/// When validating the accepted input again changes it.
pub fn check(definition: &'static Definition, raw: &RawInput) {
    let values = |raw: &RawInput| -> Option<Map<String, Value>> {
        definition.validate(raw).ok()?.into().ok()
    };
    if let Some(found) = values(raw) {
        assert_eq!(
            values(&RawInput::Object(found.clone())),
            Some(found),
            "{raw:?}"
        );
    }
}
