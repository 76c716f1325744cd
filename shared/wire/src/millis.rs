//! Times in answers of a store that preserves its input: any finite number, with a fraction or written as `2e3`.

use ars_types::UnixMillis;
use serde::{Deserialize as _, Deserializer};

/// Reads any number as whole milliseconds.
pub(crate) fn rounded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UnixMillis, D::Error> {
    f64::deserialize(deserializer).map(|number| number.round() as UnixMillis)
}
