//! Counts from a store that preserves the input: integers, possibly written as `2.0` or `1e3`.

use serde::{Deserialize as _, Deserializer, de::Error as _};

/// 2^53 - 1, the largest integer that JSON readers keep exact.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

/// Reads a non-negative integer in any spelling.
pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if number.fract() == 0.0 && (0.0..=MAX_SAFE).contains(&number) {
        Ok(number as u64)
    } else {
        Err(D::Error::custom("must be an integer of at least 0"))
    }
}
