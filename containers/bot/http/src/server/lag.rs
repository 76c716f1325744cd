//! The executor's scheduling delay: a task ticks, and each tick's delay is counted.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tokio::time::{Instant, MissedTickBehavior, interval};

/// Tick interval: short enough to observe a stall of a few milliseconds, long enough to cost little.
const TICK: Duration = Duration::from_millis(50);
/// Shorter delays are counted by the millisecond; longer delays count as the longest observed.
const MAX_COUNTED_MS: usize = 1024;

/// Measures as soon as it is created. The task ends with the last clone.
#[derive(Clone)]
pub(crate) struct LagMeter {
    window: Arc<Mutex<Window>>,
}

/// The delays since the last poll, in constant space.
struct Window {
    by_ms: Vec<u64>,
    longest_ms: f64,
    total: u64,
}

impl LagMeter {
    /// Starts measuring in a task.
    pub(crate) fn start() -> Self {
        let window = Arc::new(Mutex::new(Window::new()));
        tokio::spawn(tick(Arc::downgrade(&window)));
        Self { window }
    }

    /// Returns the 99th percentile since the previous call in milliseconds; zero without a measurement.
    pub(crate) fn p99_ms(&self) -> f64 {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *window, Window::new()).p99_ms()
    }
}

async fn tick(window: Weak<Mutex<Window>>) {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let due = ticks.tick().await;
        let Some(window) = window.upgrade() else {
            return;
        };
        let late = Instant::now().saturating_duration_since(due);
        window
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(late);
    }
}

impl Window {
    fn new() -> Self {
        Self {
            by_ms: vec![0; MAX_COUNTED_MS],
            longest_ms: 0.0,
            total: 0,
        }
    }

    fn add(&mut self, late: Duration) {
        let ms = late.as_secs_f64() * 1000.0;
        self.longest_ms = self.longest_ms.max(ms);
        self.total += 1;
        if let Some(count) = usize::try_from(late.as_millis())
            .ok()
            .and_then(|ms| self.by_ms.get_mut(ms))
        {
            *count += 1;
        }
    }

    /// Returns the nearest-rank percentile, rounded down to the millisecond.
    fn p99_ms(&self) -> f64 {
        let rank = (self.total * 99).div_ceil(100);
        if rank == 0 {
            return 0.0;
        }
        let mut seen = 0;
        for (ms, count) in (0_u32..).zip(&self.by_ms) {
            seen += count;
            if seen >= rank {
                return f64::from(ms);
            }
        }
        self.longest_ms.round()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p99(delays: impl IntoIterator<Item = u64>) -> f64 {
        let mut window = Window::new();
        for ms in delays {
            window.add(Duration::from_millis(ms));
        }
        window.p99_ms()
    }

    #[test]
    fn the_percentile_is_the_nearest_rank() {
        assert_eq!(p99([]), 0.0);
        assert_eq!(p99([7]), 7.0);
        assert_eq!(p99((1..=100).collect::<Vec<_>>()), 99.0);
        assert_eq!(p99([0; 99].into_iter().chain([500])), 0.0);
        assert_eq!(p99([0; 98].into_iter().chain([500, 500])), 500.0);
    }

    #[test]
    fn long_stall_is_counted() {
        assert_eq!(p99([90_000]), 90_000.0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_poll_begins_a_new_window() {
        let meter = LagMeter::start();
        meter.window.lock().unwrap().add(Duration::from_millis(40));
        assert_eq!(meter.p99_ms(), 40.0);
        assert_eq!(meter.p99_ms(), 0.0);
    }
}
