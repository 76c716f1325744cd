//! Limits each caller's requests per minute (docs/reference/ingress.md#limits).
//!
//! A caller has a bucket with as many requests as the limit, which refills evenly. Not here: live
//! runs, which the core limits.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use ars_bot_ports::{Overload, metrics};

/// Maximum callers with a bucket. Beyond that, callers with a full bucket are forgotten, which
/// changes nothing for them.
const BUCKETS_MAX: usize = 1_024;
/// Units for a request. A bucket gains as many units in a millisecond as the limit has requests.
const REQUEST_UNITS: i64 = 60_000;

/// Requests that each caller made.
pub(crate) struct Rates {
    buckets: Mutex<HashMap<String, Bucket>>,
    /// On a clock that cannot be set: changing the time of day neither fills nor freezes a bucket.
    since: Instant,
}

struct Bucket {
    units: i64,
    /// Milliseconds since the start.
    at: i64,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            buckets: Mutex::default(),
            since: Instant::now(),
        }
    }
}

impl Bucket {
    fn refill(&mut self, limit: i64, now: i64) {
        let gained = now.saturating_sub(self.at).saturating_mul(limit);
        self.units = self.units.saturating_add(gained).min(limit * REQUEST_UNITS);
        self.at = now;
    }
}

impl Rates {
    /// Counts a caller's request.
    ///
    /// # Errors
    /// The limit, if the caller's bucket is empty.
    pub(crate) fn admit(&self, caller: &str, limit: Option<u32>) -> Result<(), Overload> {
        let now = i64::try_from(self.since.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.admit_at(caller, limit, now)
    }

    fn admit_at(&self, caller: &str, limit: Option<u32>, now: i64) -> Result<(), Overload> {
        let Some(limit) = limit else { return Ok(()) };
        let each = i64::from(limit);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= BUCKETS_MAX {
            buckets.retain(|_, bucket| {
                bucket.refill(each, now);
                bucket.units < each * REQUEST_UNITS
            });
        }
        let full = Bucket {
            units: each * REQUEST_UNITS,
            at: now,
        };
        let bucket = buckets.entry(caller.to_owned()).or_insert(full);
        bucket.refill(each, now);
        if bucket.units >= REQUEST_UNITS {
            bucket.units -= REQUEST_UNITS;
            return Ok(());
        }
        let wait_s = rounded_up(REQUEST_UNITS - bucket.units, each.saturating_mul(1_000));
        let wait_s = u32::try_from(wait_s).unwrap_or(u32::MAX);
        let overload = Overload::Rate { limit, wait_s };
        metrics::refused(overload.setting());
        Err(overload)
    }
}

fn rounded_up(number: i64, divisor: i64) -> i64 {
    number.saturating_add(divisor - 1) / divisor.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(rates: &Rates, caller: &str, count: usize, now: i64) -> usize {
        (0..count)
            .filter(|_| rates.admit_at(caller, Some(60), now).is_ok())
            .count()
    }

    #[test]
    fn bucket_refills_evenly() {
        let rates = Rates::default();
        assert_eq!(admitted(&rates, "http:a", 70, 0), 60);
        assert_eq!(
            rates.admit_at("http:a", Some(60), 999).err(),
            Some(Overload::Rate {
                limit: 60,
                wait_s: 1
            })
        );
        assert_eq!(admitted(&rates, "http:a", 2, 1_000), 1);
        assert_eq!(admitted(&rates, "http:a", 70, 31_000), 30);
        assert_eq!(admitted(&rates, "http:a", 70, 600_000), 60);
        let slow = rates
            .admit_at("http:b", Some(2), 0)
            .and(rates.admit_at("http:b", Some(2), 0));
        assert_eq!(slow, Ok(()));
        assert_eq!(
            rates.admit_at("http:b", Some(2), 1).err(),
            Some(Overload::Rate {
                limit: 2,
                wait_s: 30
            })
        );
    }

    #[test]
    fn callers_have_separate_buckets() {
        let rates = Rates::default();
        assert_eq!(admitted(&rates, "http:a", 61, 0), 60);
        assert_eq!(admitted(&rates, "http:b", 1, 0), 1);
        assert_eq!(rates.admit_at("http:a", None, 0), Ok(()));
    }

    #[test]
    fn full_buckets_are_forgotten() {
        let rates = Rates::default();
        for number in 0..BUCKETS_MAX {
            assert_eq!(admitted(&rates, &format!("access:{number}"), 1, 0), 1);
        }
        assert_eq!(admitted(&rates, "http:late", 60, 60_000), 60);
        assert_eq!(rates.buckets.lock().unwrap().len(), 1);
    }
}
