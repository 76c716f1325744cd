//! A point in time as a store keeps it: any finite number of milliseconds.
//!
//! Other writers' times may have a fraction or be written as `2e3`, and a cursor must name such a
//! row exactly. Not here: clock times, which are [`UnixMillis`].

use std::{cmp::Ordering, fmt};

use ars_types::UnixMillis;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// 2^53 - 1, the largest integer up to which a double represents each integer.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

/// Milliseconds since the Unix epoch, finite, with or without a fraction.
#[derive(Clone, Copy, PartialEq)]
pub struct Moment(f64);

// Never NaN, and zero has a single sign.
impl Eq for Moment {}

impl Moment {
    /// Returns the moment for a finite number, or `None`.
    pub fn new(millis: f64) -> Option<Self> {
        // The sum maps both zeros to the same zero.
        millis.is_finite().then_some(Self(millis + 0.0))
    }

    /// Parses the form that `Display` writes and every other spelling of the number.
    pub fn parse(text: &str) -> Option<Self> {
        Self::new(text.parse().ok()?)
    }

    /// Returns the number of milliseconds.
    pub const fn millis(self) -> f64 {
        self.0
    }

    /// Returns the nearest whole millisecond.
    pub fn rounded(self) -> UnixMillis {
        self.0.round() as UnixMillis
    }

    fn whole(self) -> Option<i64> {
        (self.0.fract() == 0.0 && self.0.abs() <= MAX_SAFE).then_some(self.0 as i64)
    }
}

impl From<UnixMillis> for Moment {
    /// Exact within ±(2^53 - 1).
    fn from(millis: UnixMillis) -> Self {
        Self(millis as f64)
    }
}

impl PartialEq<UnixMillis> for Moment {
    fn eq(&self, other: &UnixMillis) -> bool {
        *self == Self::from(*other)
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Moment {
    /// Writes the shortest text that parses to the same number, without a fraction for an integer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.whole() {
            Some(whole) => write!(f, "{whole}"),
            None => write!(f, "{:?}", self.0),
        }
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Moment({self})")
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.whole() {
            Some(whole) => serializer.serialize_i64(whole),
            None => serializer.serialize_f64(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(f64::deserialize(deserializer)?)
            .ok_or_else(|| D::Error::custom("a time must be finite"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_times_serialize_as_integers() {
        for (number, text) in [
            (1_700_000_000_000.0, "1700000000000"),
            (-0.0, "0"),
            (-2.5, "-2.5"),
            (1_700_000_000_000.123, "1700000000000.123"),
            (1e300, "1e300"),
        ] {
            let moment = Moment::new(number).unwrap();
            assert_eq!(moment.to_string(), text);
            assert_eq!(Moment::parse(text), Some(moment));
            let travelled: Moment =
                serde_json::from_str(&serde_json::to_string(&moment).unwrap()).unwrap();
            assert_eq!(travelled, moment);
        }
        assert_eq!(serde_json::to_string(&Moment::from(5)).unwrap(), "5");
    }

    #[test]
    fn infinite_numbers_are_rejected() {
        for text in ["", "x", "NaN", "inf", "1e400", "5 "] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
        for value in [json!(null), json!("5"), json!([])] {
            assert!(serde_json::from_value::<Moment>(value).is_err());
        }
    }

    #[test]
    fn times_are_ordered_as_numbers() {
        let at = |number| Moment::new(number).unwrap();
        assert!(
            at(-1.0) < at(-0.0) && at(0.0) == at(-0.0) && at(1.5) < at(2.0) && at(2.0) < at(1e300)
        );
        assert_eq!((at(2.5).rounded(), at(2e3) == 2000), (3, true));
    }
}
