//! Recovery of asynchronous calls after a trap: the half of `js/runtime.js` that runs in Rust.
//!
//! A panic in a future is a trap in a microtask. No caller sees it, and the call's promise never settles. So a future
//! that answers a call is wrapped in [`recoverable`]: after a trap, the call that was polled is the one to fail.
//!
//! Not here: synchronous exports. Their traps reach their caller.

use std::{
    cell::{Cell, RefCell},
    future::{Future, poll_fn},
    pin::pin,
    rc::{Rc, Weak},
    task::{Poll, Waker},
};

use js_sys::futures::spawn_local;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

thread_local! {
    /// The key of the call that is polled now, or that trapped in its poll.
    static POLLED: Cell<Option<JsValue>> = const { Cell::new(None) };
    /// Keys of calls that trapped before the current poll.
    static TRAPPED: Cell<Vec<JsValue>> = const { Cell::new(Vec::new()) };
    static RETIRED: Cell<bool> = const { Cell::new(false) };
    /// The objects of this instance that calls may wait for.
    static OBSERVED: RefCell<Vec<Weak<Changes>>> = const { RefCell::new(Vec::new()) };
}

/// Runs the future that answers a call. `key` is the call's first argument.
pub async fn recoverable<T>(key: &JsValue, future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    poll_fn(|context| {
        // Polls do not nest: a key that is still here belongs to a poll that trapped.
        if let Some(earlier) = POLLED.replace(Some(key.clone())) {
            TRAPPED.set(TRAPPED.take().into_iter().chain([earlier]).collect());
        }
        let polled = future.as_mut().poll(context);
        POLLED.set(None);
        polled
    })
    .await
}

/// Returns the keys of the calls that trapped, and schedules the tasks that a trap left in the queue.
#[wasm_bindgen]
pub fn recover_calls() -> Vec<JsValue> {
    spawn_local(std::future::ready(()));
    TRAPPED.take().into_iter().chain(POLLED.take()).collect()
}

/// Marks this instance as replaced: new calls go to another one, and so do calls that have not begun.
#[wasm_bindgen]
pub fn retire_instance() {
    RETIRED.set(true);
    let observed = OBSERVED.with_borrow(Clone::clone);
    for changes in observed.iter().filter_map(Weak::upgrade) {
        changes.notify();
    }
}

/// Returns whether another instance has replaced this one, so that its state in memory is out of date.
pub fn is_retired() -> bool {
    RETIRED.get()
}

/// Lets calls wait for a change of one object's state.
#[derive(Default)]
pub struct Changes {
    waiting: RefCell<Vec<Waker>>,
}

impl Changes {
    /// Returns changes that end with the instance too.
    pub fn new() -> Rc<Self> {
        let changes = Rc::new(Self::default());
        OBSERVED.with_borrow_mut(|observed| {
            observed.retain(|changes| changes.strong_count() > 0);
            observed.push(Rc::downgrade(&changes));
        });
        changes
    }

    /// Wakes every call that waits.
    pub fn notify(&self) {
        for waker in self.waiting.take() {
            waker.wake();
        }
    }

    /// Waits for the next change, or until the instance is retired.
    pub async fn next(&self) {
        let mut has_waited = false;
        poll_fn(|context| {
            if has_waited || is_retired() {
                return Poll::Ready(());
            }
            has_waited = true;
            self.waiting.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}
