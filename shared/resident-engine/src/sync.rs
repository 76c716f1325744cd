//! Locks and signals for futures on a single thread, without a runtime.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::pin::pin;
use std::rc::Rc;

use futures::channel::oneshot;
use futures::future::{Either, select};

use crate::Host;

/// A lock that serves waiters in order. A waiter that gives up frees the place.
#[derive(Clone, Default)]
pub(crate) struct Lock(Rc<RefCell<Waiters>>);

#[derive(Default)]
struct Waiters {
    is_locked: bool,
    queue: VecDeque<oneshot::Sender<Guard>>,
}

/// The lock, until it is dropped.
pub(crate) struct Guard(Lock);

impl Lock {
    /// Waits for the lock.
    pub(crate) async fn lock(&self) -> Guard {
        let receiver = {
            let mut waiters = self.0.borrow_mut();
            if !waiters.is_locked {
                waiters.is_locked = true;
                return Guard(self.clone());
            }
            let (sender, receiver) = oneshot::channel();
            waiters.queue.push_back(sender);
            receiver
        };
        match receiver.await {
            Ok(guard) => guard,
            // The queue belongs to the lock, so the senders live as long as this future.
            Err(oneshot::Canceled) => Guard(self.clone()),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let next = self.0.0.borrow_mut().queue.pop_front();
        match next {
            // A waiter that gave up returns the guard, and the drop serves the next waiter.
            Some(waiter) => drop(waiter.send(Self(self.0.clone()))),
            None => self.0.0.borrow_mut().is_locked = false,
        }
    }
}

/// Wakes everybody who waits for a change.
#[derive(Default)]
pub(crate) struct Signal(RefCell<Vec<oneshot::Sender<()>>>);

impl Signal {
    /// Waits for the next change. Registers at the call, so a change after it is not missed.
    pub(crate) fn changed(&self) -> impl Future<Output = ()> + use<> {
        let (sender, receiver) = oneshot::channel();
        self.0.borrow_mut().push(sender);
        async move {
            // The signal outlives the waiters, or the change does not matter any more.
            let _ = receiver.await;
        }
    }

    /// Reports that something changed.
    pub(crate) fn notify(&self) {
        for waiter in self.0.take() {
            // A waiter that gave up needs no news.
            let _ = waiter.send(());
        }
    }
}

/// Returns a future's result, or `None` after the timeout.
pub(crate) async fn within<T>(
    host: &impl Host,
    timeout_ms: i64,
    work: impl Future<Output = T>,
) -> Option<T> {
    match select(pin!(work), pin!(host.sleep(timeout_ms))).await {
        Either::Left((result, _)) => Some(result),
        Either::Right(((), _)) => None,
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use futures::executor::block_on;

    use super::*;

    #[test]
    fn waiters_are_served_in_order() {
        let lock = Lock::default();
        let first = block_on(lock.lock());
        let mut waiters: Vec<_> = (0..3).map(|_| Box::pin(lock.lock())).collect();
        assert!(
            waiters
                .iter_mut()
                .all(|waiter| waiter.now_or_never().is_none())
        );
        // The second waiter gives up.
        drop(waiters.remove(1));
        drop(first);
        let second = waiters[0].as_mut().now_or_never().expect("its turn");
        assert!(waiters[1].as_mut().now_or_never().is_none());
        drop(second);
        assert!(waiters[1].as_mut().now_or_never().is_some());
    }

    /// A waiter that gives up at the moment of its turn does not keep the lock.
    #[test]
    fn abandoned_turn_passes_on() {
        let lock = Lock::default();
        let first = block_on(lock.lock());
        let mut waiter = Box::pin(lock.lock());
        assert!(waiter.as_mut().now_or_never().is_none());
        drop(first);
        drop(waiter);
        assert!(lock.lock().now_or_never().is_some());
    }
}
