//! The property that the targets check, and the definitions of the property tests.
#![forbid(unsafe_code)]

#[path = "../../shared/commands/src/fuzz_definitions.rs"]
mod definitions;

use ars_commands::{Definition, Field, Kind, RawInput, names};

pub use definitions::{LIST, SET};

/// Checks that the input of a command is rejected, or is in its normal form.
///
/// # Panics
/// When the accepted input changes by a second validation.
pub fn check(definition: &'static Definition, raw: &RawInput) {
    if let Ok(input) = definition.validate(raw) {
        let again = definition.validate(&RawInput::Object(input.values.clone()));
        assert_eq!(again.map(|input| input.values), Ok(input.values), "{raw:?}");
    }
}
