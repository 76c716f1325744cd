//! Recovers asynchronous calls after a trap: the half of `js/runtime.js` that runs in Rust.
//!
//! A panic in a future is a trap in a microtask. No caller sees it, and the call's promise never
//! settles. So a future that answers a call is wrapped in [`recoverable`], and a future that
//! answers none is run by [`start_task`]: after a trap, the call or task that was polled fails.
//!
//! Not here: synchronous exports. Their traps reach their caller.

use std::{
    cell::{Cell, RefCell},
    future::{Future, poll_fn},
    pin::pin,
    rc::{Rc, Weak},
    task::{Poll, Waker},
};

use futures::future::{AbortHandle, abortable};
use js_sys::{
    Object, Promise,
    futures::{JsFuture, future_to_promise, spawn_local},
};
use wasm_bindgen::prelude::{JsCast, JsValue, wasm_bindgen};

use crate::raw::{self, describe};

thread_local! {
    /// Key for the call that is polled now, or that trapped while polled. Polls do not nest.
    static POLLED: Cell<Option<JsValue>> = const { Cell::new(None) };
    static RETIRED: Cell<bool> = const { Cell::new(false) };
    /// This instance's objects that calls may wait for.
    static OBSERVED: RefCell<Vec<Weak<Changes>>> = const { RefCell::new(Vec::new()) };
}

/// Runs the future that answers a call.
/// `key` is the call's first argument, an object that no other call has.
pub async fn recoverable<T>(key: &JsValue, future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    poll_fn(|context| {
        POLLED.set(Some(key.clone()));
        let polled = future.as_mut().poll(context);
        POLLED.set(None);
        polled
    })
    .await
}

/// Starts a task besides the calls. The promise is rejected after a trap in the task.
pub(crate) fn start_task(task: impl Future<Output = ()> + 'static) -> Promise {
    let key = JsValue::from(Object::new());
    let polled = key.clone();
    let promise = future_to_promise(async move {
        recoverable(&polled, task).await;
        Ok(JsValue::UNDEFINED)
    });
    raw::track_task(&key, &promise)
}

/// Runs a task in the background of an object, which stays in memory until it ends.
pub fn run_in_background(context: &raw::ObjectContext, task: impl Future<Output = ()> + 'static) {
    context.wait_until(&start_task(task));
}

/// Ends the object once this instance is retired. Calls in flight, which another instance cannot
/// see, end with it.
pub fn end_when_retired(context: &raw::ObjectContext) -> RetirementWatch {
    let (context, changes) = (context.clone(), Changes::new());
    let (watch, handle) = abortable(async move {
        while !is_retired() {
            changes.next().await;
        }
        // An object that cannot be ended has no calls.
        drop(raw::abort_soon(&context, "its instance was replaced"));
    });
    spawn_local(async move { watch.await.unwrap_or_default() });
    RetirementWatch(handle)
}

/// Waits until this instance ends, or it is dropped.
pub struct RetirementWatch(AbortHandle);

impl Drop for RetirementWatch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs a task for a caller without its own key.
///
/// # Errors
/// The task trapped: the trap's text.
pub async fn run_task(task: impl Future<Output = ()> + 'static) -> Result<(), String> {
    JsFuture::from(start_task(task))
        .await
        .map(drop)
        .map_err(|thrown| describe(&thrown))
}

/// Recovers after a trap and returns the key of the call that trapped while polled. Marks this
/// instance as replaced, so that calls which have not begun go to another instance, and resumes the
/// others.
#[wasm_bindgen]
pub fn recover() -> Option<Object> {
    RETIRED.set(true);
    let observed = OBSERVED.with_borrow(Clone::clone);
    for changes in observed.iter().filter_map(Weak::upgrade) {
        changes.notify();
    }
    // A trap leaves the turn's other tasks in the queue.
    spawn_local(std::future::ready(()));
    POLLED.take().map(JsCast::unchecked_into)
}

/// Returns whether another instance has replaced this instance, so that its in-memory state is out
/// of date.
pub fn is_retired() -> bool {
    RETIRED.get()
}

/// Lets calls wait until an object's state changes.
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
