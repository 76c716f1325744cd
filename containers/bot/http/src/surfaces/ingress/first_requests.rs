//! This process's requests with an idempotency key: in flight, and from the last day.
//!
//! The table covers requests that the ledger does not: concurrent requests in the same process, and
//! requests without a claimed run. Not here: keys from other processes (`ars_bot_core::queries`).

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ars_types::UnixMillis;
use ars_wire::{
    idempotency::{IDEMPOTENCY_MAX_AGE_MS, IdempotencyKey},
    ingress::Reply,
};
use tokio::sync::watch;

use super::HttpChannel;

/// Maximum answers in the table.
const MAX_ANSWERS: usize = 1_000;
/// Maximum bytes in their replies.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// Maximum keys without an answer, each below 1 KiB.
const MAX_EVICTED: usize = 50_000;

/// This process's requests that have a key.
#[derive(Default)]
pub(crate) struct FirstRequests {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    requests: HashMap<Name, Request>,
    /// Answered requests, oldest first, with the bytes in their replies.
    answered: VecDeque<(Name, usize)>,
    answer_bytes: usize,
    /// Requests with an evicted answer, oldest first.
    evicted: VecDeque<Name>,
}

/// Subject and key together.
type Name = (String, String);

struct Request {
    fingerprint: String,
    expires_at: UnixMillis,
    state: RequestState,
}

enum RequestState {
    InFlight(Arc<HttpChannel>, watch::Receiver<Progress>),
    Answered(Arc<Reply>),
    /// The key remains, so that the request is not run again.
    Evicted,
}

/// How far the first request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// It is being dispatched.
    Dispatching,
    /// The dispatch has ended.
    Ended,
    /// The ledger did not answer whether the key is new, so nothing was dispatched.
    Unchecked,
}

/// How a request with a key continues.
pub(super) enum Admitted {
    /// It is the first request.
    First(Reservation),
    /// The first request is in flight.
    InFlight(Arc<HttpChannel>, watch::Receiver<Progress>),
    /// The first request was answered.
    Answered(Arc<Reply>),
    /// The first request was answered, and only the run's record may have the answer.
    Evicted,
    /// The first request had another body.
    AnotherBody,
}

/// The first request with a key. Dropped without an end, it failed.
pub(super) struct Reservation {
    requests: Arc<FirstRequests>,
    name: Name,
    progress: watch::Sender<Progress>,
}

impl FirstRequests {
    /// Admits a request with a channel.
    pub(super) fn admit(
        self: &Arc<Self>,
        key: &IdempotencyKey,
        io: &Arc<HttpChannel>,
        now: UnixMillis,
    ) -> Admitted {
        let name = (key.subject.clone(), key.key.clone());
        let mut table = self.lock();
        table.expire(now, &name);
        if let Some(first) = table.requests.get(&name) {
            return match &first.state {
                _ if first.fingerprint != key.fingerprint => Admitted::AnotherBody,
                RequestState::InFlight(io, progress) => {
                    Admitted::InFlight(Arc::clone(io), progress.clone())
                }
                RequestState::Answered(reply) => Admitted::Answered(Arc::clone(reply)),
                RequestState::Evicted => Admitted::Evicted,
            };
        }
        let (progress, watched) = watch::channel(Progress::Dispatching);
        let request = Request {
            fingerprint: key.fingerprint.clone(),
            expires_at: now.saturating_add(IDEMPOTENCY_MAX_AGE_MS),
            state: RequestState::InFlight(Arc::clone(io), watched),
        };
        table.requests.insert(name.clone(), request);
        Admitted::First(Reservation {
            requests: Arc::clone(self),
            name,
            progress,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Removes the oldest answers that have expired, and the `wanted` answer. Answers are in the
    /// order in which they ended, so an expired answer may lie behind a current answer.
    fn expire(&mut self, now: UnixMillis, wanted: &Name) {
        while self
            .evicted
            .front()
            .is_some_and(|name| self.is_expired(name, now))
        {
            self.remove_evicted(0);
        }
        while self
            .answered
            .front()
            .is_some_and(|(name, _)| self.is_expired(name, now))
        {
            self.remove(0);
        }
        if self.is_expired(wanted, now) {
            if let Some(index) = self.answered.iter().position(|(name, _)| name == wanted) {
                self.remove(index);
            } else if let Some(index) = self.evicted.iter().position(|name| name == wanted) {
                self.remove_evicted(index);
            }
        }
    }

    fn is_expired(&self, name: &Name, now: UnixMillis) -> bool {
        self.requests
            .get(name)
            .is_some_and(|request| request.expires_at <= now)
    }

    fn keep(&mut self, name: &Name, reply: Reply) {
        let Some(request) = self.requests.get_mut(name) else {
            return;
        };
        let bytes = reply.reply.len();
        request.state = RequestState::Answered(Arc::new(reply));
        self.answered.push_back((name.clone(), bytes));
        self.answer_bytes += bytes;
        while self.answered.len() > MAX_ANSWERS || self.answer_bytes > MAX_ANSWER_BYTES {
            self.evict();
        }
    }

    /// Drops the oldest answer, and keeps the key.
    fn evict(&mut self) {
        let Some((name, bytes)) = self.answered.pop_front() else {
            return;
        };
        self.answer_bytes -= bytes;
        if let Some(request) = self.requests.get_mut(&name) {
            request.state = RequestState::Evicted;
        }
        self.evicted.push_back(name);
        if self.evicted.len() > MAX_EVICTED {
            self.remove_evicted(0);
        }
    }

    fn remove(&mut self, index: usize) {
        if let Some((name, bytes)) = self.answered.remove(index) {
            self.requests.remove(&name);
            self.answer_bytes -= bytes;
        }
    }

    fn remove_evicted(&mut self, index: usize) {
        if let Some(name) = self.evicted.remove(index) {
            self.requests.remove(&name);
        }
    }
}

impl Reservation {
    /// Returns the request's progress.
    pub(super) fn watch(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Ends the request and keeps a complete answer. Otherwise the key's next request is a first
    /// request.
    pub(super) fn end(self, io: &HttpChannel) {
        if io.is_complete() {
            self.requests.lock().keep(&self.name, io.collected());
        }
        self.progress.send_replace(Progress::Ended);
    }

    /// Ends the request without a dispatch.
    pub(super) fn end_unchecked(self) {
        self.progress.send_replace(Progress::Unchecked);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut table = self.requests.lock();
        let is_in_flight = |request: &Request| matches!(request.state, RequestState::InFlight(..));
        if table.requests.get(&self.name).is_some_and(is_in_flight) {
            table.requests.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use ars_bot_ports::{Channel as _, ChannelEvent, Refusal};
    use ars_wire::ErrorCode;

    use super::*;

    fn key(key: &str, fingerprint: &str) -> IdempotencyKey {
        IdempotencyKey {
            subject: "ann".into(),
            key: key.into(),
            fingerprint: fingerprint.into(),
        }
    }

    fn io() -> Arc<HttpChannel> {
        Arc::new(HttpChannel::new(Vec::new()))
    }

    fn first(
        requests: &Arc<FirstRequests>,
        key: &IdempotencyKey,
        now: UnixMillis,
    ) -> Option<Reservation> {
        match requests.admit(key, &io(), now) {
            Admitted::First(reservation) => Some(reservation),
            Admitted::InFlight(..)
            | Admitted::Answered(_)
            | Admitted::Evicted
            | Admitted::AnotherBody => None,
        }
    }

    #[tokio::test]
    async fn answer_is_kept_until_it_expires() {
        let requests = Arc::new(FirstRequests::default());
        let reservation = first(&requests, &key("a", "1"), 0).unwrap();
        assert!(matches!(
            requests.admit(&key("a", "1"), &io(), 0),
            Admitted::InFlight(..)
        ));
        assert!(matches!(
            requests.admit(&key("a", "2"), &io(), 0),
            Admitted::AnotherBody
        ));
        let answered = io();
        answered
            .send(ChannelEvent::Reply("done".into()))
            .await
            .unwrap();
        reservation.end(&answered);
        for at in [0, IDEMPOTENCY_MAX_AGE_MS - 1] {
            let Admitted::Answered(reply) = requests.admit(&key("a", "1"), &io(), at) else {
                panic!("{at}")
            };
            assert_eq!(reply.reply, "done");
        }
        assert!(first(&requests, &key("a", "2"), IDEMPOTENCY_MAX_AGE_MS).is_some());
    }

    #[tokio::test]
    async fn answer_behind_a_newer_request_expires() {
        let requests = Arc::new(FirstRequests::default());
        let slow = first(&requests, &key("slow", "1"), 0).unwrap();
        first(&requests, &key("newer", "1"), 1).unwrap().end(&io());
        slow.end(&io());
        let next = first(&requests, &key("slow", "2"), IDEMPOTENCY_MAX_AGE_MS);
        assert!(next.is_some());
        assert!(first(&requests, &key("newer", "1"), IDEMPOTENCY_MAX_AGE_MS).is_none());
    }

    #[tokio::test]
    async fn incomplete_answer_is_not_kept() {
        let requests = Arc::new(FirstRequests::default());
        drop(first(&requests, &key("a", "1"), 0).unwrap());
        let refused = io();
        refused
            .send(ChannelEvent::Refused(Refusal::NotStarted))
            .await
            .unwrap();
        first(&requests, &key("a", "1"), 0).unwrap().end(&refused);
        let failed = io();
        let failure = Some(ErrorCode::Internal);
        failed
            .send(ChannelEvent::CommandAnswered { failure })
            .await
            .unwrap();
        first(&requests, &key("a", "1"), 0).unwrap().end(&failed);
        first(&requests, &key("a", "1"), 0).unwrap().end_unchecked();
        assert!(first(&requests, &key("a", "2"), 0).is_some());
    }

    #[tokio::test]
    async fn evicted_answers_keep_their_keys() {
        let requests = Arc::new(FirstRequests::default());
        let large = io();
        large
            .send(ChannelEvent::Reply("x".repeat(MAX_ANSWER_BYTES)))
            .await
            .unwrap();
        first(&requests, &key("large", "1"), 0).unwrap().end(&large);
        assert!(matches!(
            requests.admit(&key("large", "1"), &large, 0),
            Admitted::Answered(_)
        ));
        for number in 0..MAX_ANSWERS {
            let answered = io();
            answered
                .send(ChannelEvent::Reply("y".into()))
                .await
                .unwrap();
            first(&requests, &key(&number.to_string(), "1"), 0)
                .unwrap()
                .end(&answered);
        }
        assert!(matches!(
            requests.admit(&key("large", "1"), &large, 0),
            Admitted::Evicted
        ));
        assert!(matches!(
            requests.admit(&key("large", "2"), &large, 0),
            Admitted::AnotherBody
        ));
        assert!(matches!(
            requests.admit(&key("0", "1"), &large, 0),
            Admitted::Answered(_)
        ));
        assert_eq!(requests.lock().answer_bytes, MAX_ANSWERS);
        let again = first(&requests, &key("large", "2"), IDEMPOTENCY_MAX_AGE_MS);
        assert!(again.is_some());
        let table = requests.lock();
        assert_eq!(
            (
                table.requests.len(),
                table.evicted.len(),
                table.answer_bytes
            ),
            (1, 0, 0)
        );
    }

    #[test]
    fn oldest_evicted_keys_are_removed() {
        let mut table = Table::default();
        for number in 0..=MAX_ANSWERS + MAX_EVICTED {
            let name = ("ann".to_owned(), number.to_string());
            let request = Request {
                fingerprint: "1".into(),
                expires_at: 1,
                state: RequestState::Evicted,
            };
            table.requests.insert(name.clone(), request);
            table.keep(&name, Reply::default());
        }
        assert_eq!(
            (table.requests.len(), table.evicted.len()),
            (MAX_ANSWERS + MAX_EVICTED, MAX_EVICTED)
        );
        assert!(
            !table
                .requests
                .contains_key(&("ann".to_owned(), "0".to_owned()))
        );
    }
}
