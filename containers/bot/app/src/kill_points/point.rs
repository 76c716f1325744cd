//! A kill point.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{commands::Failure, environment};

/// Names the point; without it the process is never killed.
const VARIABLE: &str = "ARS_KILL_AT";
/// The error for any other spelling.
const SHAPE: &str = "ARS_KILL_AT must be <port>.<method>.<before|after>:<n>, n from 1";

/// A port method, and the call number at which the process aborts. Cheap to clone.
#[derive(Clone)]
pub(super) struct KillPoint {
    place: Arc<str>,
    is_after: bool,
    /// Calls until the kill, including it.
    left: Arc<AtomicU64>,
}

impl KillPoint {
    /// Returns the kill point that the environment names, if any.
    pub(super) fn of_environment() -> Result<Option<Self>, Failure> {
        let Some(text) = environment::variable(VARIABLE) else {
            return Ok(None);
        };
        Self::parse(&text)
            .map(Some)
            .ok_or_else(|| Failure::InvalidInput(SHAPE.to_owned()))
    }

    fn parse(text: &str) -> Option<Self> {
        let (place, count) = text.trim().split_once(':')?;
        let (place, side) = place.rsplit_once('.')?;
        let is_after = match side {
            "before" => false,
            "after" => true,
            _ => return None,
        };
        place.split_once('.')?;
        let count = count.parse().ok().filter(|count| *count > 0)?;
        Some(Self {
            place: place.into(),
            is_after,
            left: Arc::new(AtomicU64::new(count)),
        })
    }

    /// Makes a call at a place, and aborts the process before or after it when the point names this call.
    pub(super) async fn around<T>(&self, place: &str, call: impl Future<Output = T>) -> T {
        if *self.place != *place {
            return call.await;
        }
        let is_last = self.left.fetch_sub(1, Ordering::Relaxed) == 1;
        if is_last && !self.is_after {
            std::process::abort();
        }
        let answer = call.await;
        if is_last {
            std::process::abort();
        }
        answer
    }
}
