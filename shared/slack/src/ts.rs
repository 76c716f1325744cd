//! Message timestamps: the id of a message within its channel, and its time.

use std::fmt;

use ars_types::UnixMillis;
use serde::{Serialize, Serializer};

/// Maximum digits of the seconds, so that milliseconds fit into an integer.
const SECONDS_MAX_DIGITS: usize = 12;
/// Maximum digits of the fraction. Slack writes six.
const FRACTION_MAX_DIGITS: usize = 9;
/// Digits of a fraction that Slack writes.
const MICROS_DIGITS: u8 = 6;

/// A message's timestamp, `seconds.fraction`. Ordered by time; printed as it was read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ts {
    seconds: u64,
    nanos: u32,
    /// Digits of the fraction as it was read, `1.2` is not the id `1.20`.
    digits: u8,
}

impl Ts {
    /// Parses digits, a dot, and digits. Returns `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (seconds, fraction) = text.split_once('.')?;
        let is_digits = |text: &str, max| {
            (1..=max).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        let has_leading_zero = seconds.len() > 1 && seconds.starts_with('0');
        if !is_digits(seconds, SECONDS_MAX_DIGITS)
            || !is_digits(fraction, FRACTION_MAX_DIGITS)
            || has_leading_zero
        {
            return None;
        }
        Some(Self {
            seconds: seconds.parse().ok()?,
            nanos: format!("{fraction:0<FRACTION_MAX_DIGITS$}").parse().ok()?,
            digits: u8::try_from(fraction.len()).ok()?,
        })
    }

    /// Returns the timestamp of a time in milliseconds. Times before 1970 count as 1970.
    pub fn from_millis(at: UnixMillis) -> Self {
        let at = u64::try_from(at).unwrap_or(0);
        Self {
            seconds: at / 1_000,
            nanos: u32::try_from(at % 1_000).unwrap_or(0) * 1_000_000,
            digits: MICROS_DIGITS,
        }
    }

    /// Returns the time in milliseconds.
    pub fn millis(self) -> UnixMillis {
        let seconds = UnixMillis::try_from(self.seconds).unwrap_or(UnixMillis::MAX);
        seconds
            .saturating_mul(1_000)
            .saturating_add(i64::from(self.nanos / 1_000_000))
    }
}

impl fmt::Display for Ts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:0FRACTION_MAX_DIGITS$}", self.nanos);
        write!(
            f,
            "{}.{}",
            self.seconds,
            &fraction[..usize::from(self.digits)]
        )
    }
}

impl fmt::Debug for Ts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ts({self})")
    }
}

impl Serialize for Ts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parsed_timestamps_print_back() {
        for text in [
            "1700000000.000100",
            "0.0",
            "1.2",
            "1.20",
            "999999999999.999999999",
        ] {
            assert_eq!(Ts::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "",
            ".",
            "1",
            "1.",
            ".1",
            "01.2",
            "1.2.3",
            "+1.2",
            "1,2",
            "1.2 ",
            "1234567890123.0",
        ] {
            assert_eq!(Ts::parse(text), None, "{text}");
        }
    }

    #[test]
    fn timestamps_order_by_number() {
        let sorted = [
            "2.9",
            "2.95",
            "10.0",
            "1700000000.000100",
            "1700000000.000101",
        ];
        let sorted = sorted.map(|text| Ts::parse(text).unwrap());
        assert!(sorted.is_sorted());
    }

    proptest! {
        #[test]
        fn milliseconds_read_back(at in 0..=4_000_000_000_000i64) {
            let ts = Ts::from_millis(at);
            prop_assert_eq!(ts.millis(), at);
            prop_assert_eq!(Ts::parse(&ts.to_string()), Some(ts));
        }

        #[test]
        fn any_text_parses_or_not(text in "[0-9.x]{0,30}|\\PC*") {
            if let Some(ts) = Ts::parse(&text) {
                prop_assert_eq!(ts.to_string(), text);
            }
        }
    }
}
