//! Repeated deliveries: the host sends a webhook again under the id of the first.

use std::collections::{BTreeMap, VecDeque};

use ars_types::UnixMillis;

/// Maximum webhook deliveries that are remembered.
const MAX_DELIVERIES: usize = 10_000;
/// Retention of a webhook delivery: the host sends one again for three days.
const DELIVERY_RETENTION_MS: i64 = 259_200_000;
/// Maximum characters of a delivery's id.
const MAX_DELIVERY_ID_CHARS: usize = 100;

/// The deliveries of the last days.
#[derive(Debug, Clone, Default)]
pub struct Deliveries {
    known: BTreeMap<String, UnixMillis>,
    order: VecDeque<String>,
}

/// Whether a delivery was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// It is new.
    First,
    /// It was seen, so it has no effect.
    Repeated,
    /// Its id is missing or too long.
    Invalid,
}

impl Deliveries {
    /// Records a delivery, after its signature was checked. Beyond the limit the oldest is forgotten.
    pub fn record(&mut self, id: &str, now: UnixMillis) -> Delivery {
        if id.is_empty() || id.len() > MAX_DELIVERY_ID_CHARS {
            return Delivery::Invalid;
        }
        while let Some(oldest) = self.order.front() {
            let age = self.known.get(oldest).map_or(i64::MAX, |at| now.saturating_sub(*at));
            let is_full = self.order.len() >= MAX_DELIVERIES && !self.known.contains_key(id);
            if age <= DELIVERY_RETENTION_MS && !is_full {
                break;
            }
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
        if self.known.contains_key(id) {
            return Delivery::Repeated;
        }
        self.known.insert(id.to_owned(), now);
        self.order.push_back(id.to_owned());
        Delivery::First
    }

    /// Forgets a delivery whose message could not be stored, so that its repetition is accepted.
    pub fn forget(&mut self, id: &str) {
        self.known.remove(id);
        self.order.retain(|known| known != id);
    }
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
            ("", 0, Delivery::Invalid),
        ] {
            assert_eq!(deliveries.record(id, now), expected, "{id} {now}");
        }
        deliveries.forget("b");
        assert_eq!(deliveries.record("b", DELIVERY_RETENTION_MS + 3), Delivery::First);
        assert_eq!(deliveries.record(&"x".repeat(101), 0), Delivery::Invalid);
    }

    #[test]
    fn memory_of_deliveries_is_bounded() {
        let mut deliveries = Deliveries::default();
        for index in 0..=MAX_DELIVERIES {
            assert_eq!(deliveries.record(&index.to_string(), 0), Delivery::First);
        }
        assert_eq!((deliveries.known.len(), deliveries.order.len()), (MAX_DELIVERIES, MAX_DELIVERIES));
        assert_eq!(deliveries.record(&MAX_DELIVERIES.to_string(), 0), Delivery::Repeated);
        assert_eq!(deliveries.record("0", 0), Delivery::First);
    }
}
