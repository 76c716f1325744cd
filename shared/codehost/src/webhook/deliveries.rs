//! Repeated deliveries: the host sends a webhook again under the first id.

use std::collections::{BTreeMap, VecDeque};

use ars_types::UnixMillis;
use sha2::{Digest as _, Sha256};

/// Maximum webhook deliveries that are remembered.
const MAX_DELIVERIES: usize = 10_000;
/// How long a webhook delivery is remembered: the host resends for three days.
const DELIVERY_RETENTION_MS: i64 = 259_200_000;
/// Maximum length of a delivery id in characters.
const MAX_DELIVERY_ID_CHARS: usize = 100;

/// Hexadecimal digits in a delivery id's digest.
const DIGEST_CHARS: usize = 16;
/// Hexadecimal digits in a delivery's minute.
const MINUTE_CHARS: usize = 8;
const MINUTE_MS: i64 = 60_000;

/// Recent deliveries, as digests of their ids.
#[derive(Debug, Clone, Default)]
pub struct Deliveries {
    known: BTreeMap<String, UnixMillis>,
    order: VecDeque<String>,
}

/// Whether a delivery was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The delivery is new.
    First,
    /// It was seen, so it has no effect.
    Repeated,
    /// The id is missing or too long.
    Invalid,
}

impl Deliveries {
    /// Parses the stored form. Malformed entries are dropped.
    pub fn parse(text: &str) -> Self {
        let mut deliveries = Self::default();
        for entry in text.as_bytes().chunks_exact(DIGEST_CHARS + MINUTE_CHARS) {
            let Ok(entry) = std::str::from_utf8(entry) else {
                continue;
            };
            let Some((digest, minute)) = entry.split_at_checked(DIGEST_CHARS) else {
                continue;
            };
            let Ok(minute) = u32::from_str_radix(minute, 16) else {
                continue;
            };
            deliveries.insert(digest.to_owned(), i64::from(minute) * MINUTE_MS);
        }
        deliveries
    }

    /// Returns the stored form: each delivery's digest and minute, oldest first.
    pub fn text(&self) -> String {
        let minute = |digest: &String| {
            let at = self.known.get(digest).copied().unwrap_or_default();
            // Rounded up, so that a stored delivery is never forgotten early.
            u32::try_from(at.saturating_add(MINUTE_MS - 1) / MINUTE_MS).unwrap_or_default()
        };
        self.order
            .iter()
            .map(|digest| format!("{digest}{:08x}", minute(digest)))
            .collect()
    }

    /// Returns whether a delivery was recorded, after the signature was checked.
    pub fn check(&self, id: &str, now: UnixMillis) -> Delivery {
        if id.is_empty() || id.len() > MAX_DELIVERY_ID_CHARS {
            return Delivery::Invalid;
        }
        let is_recent = |at: &UnixMillis| now.saturating_sub(*at) <= DELIVERY_RETENTION_MS;
        match self.known.get(&digest(id)).is_some_and(is_recent) {
            true => Delivery::Repeated,
            false => Delivery::First,
        }
    }

    /// Records a delivery. Forgets old deliveries, and the oldest beyond the limit.
    pub fn record(&mut self, id: &str, now: UnixMillis) {
        while let Some(oldest) = self.order.front() {
            let age = self
                .known
                .get(oldest)
                .map_or(i64::MAX, |at| now.saturating_sub(*at));
            if age <= DELIVERY_RETENTION_MS && self.order.len() < MAX_DELIVERIES {
                break;
            }
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
        self.insert(digest(id), now);
    }

    fn insert(&mut self, digest: String, at: UnixMillis) {
        if self.known.insert(digest.clone(), at).is_none() {
            self.order.push_back(digest);
        }
    }
}

fn digest(id: &str) -> String {
    let digest = Sha256::digest(id.as_bytes());
    digest
        .iter()
        .take(DIGEST_CHARS / 2)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delivery_counts_once_for_three_days() {
        let mut deliveries = Deliveries::default();
        for (id, now, expected) in [
            ("a", 0, Delivery::First),
            ("a", 1, Delivery::Repeated),
            ("b", 2, Delivery::First),
            ("a", DELIVERY_RETENTION_MS, Delivery::Repeated),
            ("a", DELIVERY_RETENTION_MS + 1, Delivery::First),
            ("b", DELIVERY_RETENTION_MS + 2, Delivery::Repeated),
        ] {
            let found = deliveries.check(id, now);
            assert_eq!(found, expected, "{id} {now}");
            if found == Delivery::First {
                deliveries.record(id, now);
            }
        }
        for id in ["", &"x".repeat(101)] {
            assert_eq!(deliveries.check(id, 0), Delivery::Invalid);
        }
    }

    #[test]
    fn stored_form_keeps_every_delivery() {
        let mut deliveries = Deliveries::default();
        deliveries.record("a", 1_800_000_000_001);
        deliveries.record("b", 1_800_000_000_002);
        let stored = Deliveries::parse(&deliveries.text());
        for id in ["a", "b"] {
            assert_eq!(
                stored.check(id, 1_800_000_000_000 + DELIVERY_RETENTION_MS),
                Delivery::Repeated
            );
        }
        assert_eq!(stored.check("c", 1_800_000_000_003), Delivery::First);
        for malformed in ["", "x", &"é".repeat(24), &"z".repeat(48)] {
            assert!(Deliveries::parse(malformed).known.is_empty(), "{malformed}");
        }
    }

    /// The stored form fits into a 256 KiB configuration document.
    #[test]
    fn memory_of_deliveries_is_bounded() {
        let mut deliveries = Deliveries::default();
        for index in 0..=MAX_DELIVERIES {
            deliveries.record(&index.to_string(), 0);
        }
        assert_eq!(
            (deliveries.known.len(), deliveries.order.len()),
            (MAX_DELIVERIES, MAX_DELIVERIES)
        );
        assert_eq!(
            deliveries.check(&MAX_DELIVERIES.to_string(), 0),
            Delivery::Repeated
        );
        assert_eq!(deliveries.check("0", 0), Delivery::First);
        assert_eq!(deliveries.text().len(), 240_000);
    }
}
