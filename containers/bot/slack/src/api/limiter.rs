//! Keeps calls within the platform's rates, and lets cards give way to replies.
//!
//! The platform counts calls per minute and allows short bursts. A part of each minute's calls is
//! the burst; the rest comes back evenly. Not here: repetition after a failure (`client.rs`).

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

use super::{ApiError, Method};

/// Channels with a remembered rate. Older ones start over, which only forgets a wait.
const MAX_LIMITED_CHANNELS: usize = 4_096;

/// How urgent a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// It waits for a turn, at most this long.
    Waits(Duration),
    /// It is made now or not at all, and leaves half of the burst to others.
    Yields,
}

/// The rates of all methods.
#[derive(Default)]
pub(super) struct Limiter {
    rates: Mutex<HashMap<Key, Rate>>,
}

type Key = (Method, Option<String>);

/// The state of one rate, by the generic cell rate algorithm.
#[derive(Clone, Copy)]
struct Rate {
    /// When the next call would be due if calls were spread evenly.
    due: Instant,
    /// The platform refuses calls before this time.
    closed_until: Instant,
}

impl Limiter {
    /// Waits for the call's turn.
    ///
    /// # Errors
    /// The turn is later than the call waits.
    pub(super) async fn turn(
        &self,
        method: Method,
        channel: Option<&str>,
        urgency: Urgency,
    ) -> Result<(), ApiError> {
        loop {
            let now = Instant::now();
            let at = self.reserve(key(method, channel), urgency, now)?;
            if at > now {
                sleep_until(at).await;
            }
            // Otherwise the platform asked for a wait meanwhile, and the turn is taken again.
            if !self.is_closed(&key(method, channel)) {
                return Ok(());
            }
        }
    }

    fn is_closed(&self, key: &Key) -> bool {
        let rates = self.lock();
        let rate = rates.get(key);
        rate.is_some_and(|rate| rate.closed_until > Instant::now())
    }

    /// Holds the method's calls back, because the platform asked for it.
    pub(super) fn close(&self, method: Method, channel: Option<&str>, time: Duration) {
        let now = Instant::now();
        let mut rates = self.lock();
        let rate = rates.entry(key(method, channel)).or_insert(Rate {
            due: now,
            closed_until: now,
        });
        rate.closed_until = rate.closed_until.max(now + time);
        // Waiting calls do not follow all at once.
        rate.due = rate.due.max(rate.closed_until);
    }

    fn reserve(&self, key: Key, urgency: Urgency, now: Instant) -> Result<Instant, ApiError> {
        let (per_minute, burst) = (key.0.per_minute(), key.0.burst());
        let interval = Duration::from_secs(60) / (per_minute - burst).max(1);
        let mut rates = self.lock();
        if rates.len() >= MAX_LIMITED_CHANNELS {
            rates.retain(|_, rate| rate.due > now || rate.closed_until > now);
        }
        let rate = rates.entry(key).or_insert(Rate {
            due: now,
            closed_until: now,
        });
        let due = rate.due.max(now);
        let early = match urgency {
            Urgency::Waits(_) => burst - 1,
            Urgency::Yields => (burst - 1) / 2,
        };
        let at = due
            .checked_sub(interval * early)
            .unwrap_or(now)
            .max(rate.closed_until)
            .max(now);
        let longest = match urgency {
            Urgency::Waits(time) => time,
            Urgency::Yields => Duration::ZERO,
        };
        if at > now + longest {
            return Err(ApiError::Crowded);
        }
        rate.due = due + interval;
        Ok(at)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Rate>> {
        self.rates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(method: Method, channel: Option<&str>) -> Key {
    let channel = channel.filter(|_| method.is_per_channel());
    (method, channel.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    const LONG: Urgency = Urgency::Waits(Duration::from_secs(3_600));

    fn most_in_a_minute(made: &[Instant]) -> usize {
        let minute = Duration::from_secs(60);
        let within = |from: &Instant| {
            let at = made
                .iter()
                .filter(|at| *at >= from && **at < *from + minute);
            at.count()
        };
        made.iter().map(within).max().unwrap_or_default()
    }

    #[tokio::test(start_paused = true)]
    async fn no_minute_has_more_calls_than_allowed() {
        let limiter = Limiter::default();
        let mut made = Vec::new();
        for _ in 0..300 {
            limiter.turn(Method::Update, None, LONG).await.unwrap();
            made.push(Instant::now());
        }
        assert!(most_in_a_minute(&made) <= 50);
        assert!(made[299] - made[0] < Duration::from_secs(300 * 60 / 39));
    }

    #[tokio::test(start_paused = true)]
    async fn cards_leave_calls_for_others() {
        let limiter = Limiter::default();
        let mut live = 0;
        while limiter
            .turn(Method::Update, None, Urgency::Yields)
            .await
            .is_ok()
        {
            live += 1;
        }
        assert_eq!(live, 5);
        let before = Instant::now();
        for _ in 0..5 {
            limiter.turn(Method::Update, None, LONG).await.unwrap();
        }
        assert_eq!(Instant::now(), before);
    }

    /// Fifty runs for five minutes, which end together.
    #[tokio::test(start_paused = true)]
    async fn every_card_of_many_is_closed() {
        let limiter = Limiter::default();
        let began = Instant::now();
        let cards = (0..50).map(|_| async {
            let mut made = Vec::new();
            for _ in 0..100 {
                let frame = limiter.turn(Method::Update, None, Urgency::Yields).await;
                made.extend(frame.is_ok().then(Instant::now));
                sleep(Duration::from_secs(3)).await;
            }
            limiter.turn(Method::Update, None, LONG).await.unwrap();
            made.push(Instant::now());
            made
        });
        let cards = futures::future::join_all(cards).await;
        let mut made = cards.concat();
        made.sort();
        assert!(most_in_a_minute(&made) <= 50);
        let last = *made.last().unwrap() - began;
        assert!(last < Duration::from_secs(300 + 90), "{last:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn channels_do_not_delay_each_other() {
        let limiter = Limiter::default();
        limiter.close(Method::Post, Some("C1"), Duration::from_secs(30));
        let before = Instant::now();
        limiter.turn(Method::Post, Some("C2"), LONG).await.unwrap();
        assert_eq!(Instant::now(), before);
        let short = Urgency::Waits(Duration::from_secs(20));
        let refused = limiter.turn(Method::Post, Some("C1"), short).await;
        assert_eq!(refused, Err(ApiError::Crowded));
        limiter.turn(Method::Post, Some("C1"), LONG).await.unwrap();
        assert_eq!(Instant::now() - before, Duration::from_secs(30));
    }

    /// Calls that wait already stay behind a later `Retry-After`, and then keep their distance.
    #[tokio::test(start_paused = true)]
    async fn waiting_calls_honour_a_later_limit() {
        let limiter = Limiter::default();
        let before = Instant::now();
        let calls = (0..10).map(|_| async {
            limiter.turn(Method::Post, Some("C1"), LONG).await.unwrap();
            Instant::now() - before
        });
        let calls = futures::future::join_all(calls);
        // Polled second, when all calls have a turn.
        let closing = async { limiter.close(Method::Post, Some("C1"), Duration::from_secs(60)) };
        let (made, ()) = tokio::join!(calls, closing);
        let early = made
            .iter()
            .filter(|at| **at < Duration::from_secs(60))
            .count();
        let together = made
            .iter()
            .filter(|at| **at == Duration::from_secs(60))
            .count();
        assert!(early <= 3 && together <= 3, "{made:?}");
    }
}
