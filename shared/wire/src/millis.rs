//! Deserializes times from stores that return a client's JSON unchanged.
//!
//! Such a time may be any finite number, also with a fraction or an exponent (`2e3`).

use ars_types::UnixMillis;
use serde::{Deserialize as _, Deserializer};

/// Deserializes a number, rounded to whole milliseconds.
pub(crate) fn rounded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UnixMillis, D::Error> {
    f64::deserialize(deserializer).map(|number| number.round() as UnixMillis)
}
