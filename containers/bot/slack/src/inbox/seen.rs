//! Messages that this process received, so that a redelivered event costs nothing.
//!
//! Not here: messages that an earlier process received (`pending.rs`, the run's idempotency key).

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use ars_slack::Ts;

/// Messages remembered. The oldest is forgotten first.
const MAX_SEEN: usize = 5_000;

/// Received messages, by channel and id.
#[derive(Default)]
pub(crate) struct Seen(Mutex<State>);

#[derive(Default)]
struct State {
    /// Whether each is accepted, so that its delivery may be acknowledged again.
    known: HashMap<(String, Ts), bool>,
    order: VecDeque<(String, Ts)>,
}

impl Seen {
    /// Notes a message. Returns `false` if it is known.
    pub(crate) fn note(&self, channel: &str, ts: Ts) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (channel.to_owned(), ts);
        if state.known.contains_key(&key) {
            return false;
        }
        state.known.insert(key.clone(), false);
        state.order.push_back(key);
        if state.order.len() > MAX_SEEN
            && let Some(oldest) = state.order.pop_front()
        {
            state.known.remove(&oldest);
        }
        true
    }

    /// Notes that a message is accepted: it is stored, or needs no request.
    pub(crate) fn accept(&self, channel: &str, ts: Ts) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(is_accepted) = state.known.get_mut(&(channel.to_owned(), ts)) {
            *is_accepted = true;
        }
    }

    /// Returns whether a known message is accepted.
    pub(crate) fn is_accepted(&self, channel: &str, ts: Ts) -> bool {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.known.get(&(channel.to_owned(), ts)) == Some(&true)
    }

    /// Forgets a message that was not served, so that another delivery counts.
    pub(crate) fn forget(&self, channel: &str, ts: Ts) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (channel.to_owned(), ts);
        if state.known.remove(&key).is_some() {
            state.order.retain(|one| *one != key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_message_is_forgotten_first() {
        let seen = Seen::default();
        let ts = |seconds: usize| Ts::from_millis(i64::try_from(seconds).unwrap() * 1_000);
        assert!(seen.note("C1", ts(1)));
        assert!(!seen.note("C1", ts(1)));
        assert!(seen.note("C2", ts(1)));
        for seconds in 2..=MAX_SEEN {
            assert!(seen.note("C1", ts(seconds)));
        }
        assert!(seen.note("C1", ts(1)));
        assert!(!seen.note("C1", ts(4)));
        seen.accept("C1", ts(4));
        assert!(seen.is_accepted("C1", ts(4)) && !seen.is_accepted("C1", ts(5)));
        seen.forget("C1", ts(4));
        assert!(seen.note("C1", ts(4)) && !seen.is_accepted("C1", ts(4)));
    }
}
