//! Probes a bot under load, and times each probe.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use ars_tests_drills::{Bot, until};

/// Longest that a probe may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between two probes.
const INTERVAL: Duration = Duration::from_millis(50);
/// How many probes an idle bot gets.
const IDLE: usize = 40;

/// Asks `/healthz` until it is ended. Each question must be answered.
pub(crate) struct Prober {
    is_over: Arc<AtomicBool>,
    taken: Arc<Mutex<Vec<Duration>>>,
    asking: tokio::task::JoinHandle<()>,
}

impl Prober {
    pub(crate) fn start(bot: &Bot) -> Self {
        let url = format!("{}/healthz", bot.url().unwrap());
        let (is_over, taken) = (
            Arc::<AtomicBool>::default(),
            Arc::<Mutex<Vec<Duration>>>::default(),
        );
        let (stop, times) = (Arc::clone(&is_over), Arc::clone(&taken));
        let asking = tokio::spawn(async move {
            let client = reqwest::Client::builder().timeout(TIMEOUT).build().unwrap();
            let mut interval = tokio::time::interval(INTERVAL);
            while !stop.load(Ordering::Relaxed) {
                interval.tick().await;
                let asked = Instant::now();
                assert_eq!(client.get(&url).send().await.unwrap().status(), 200);
                times.lock().unwrap().push(asked.elapsed());
            }
        });
        Self {
            is_over,
            taken,
            asking,
        }
    }

    /// Returns the probes for a bot that does nothing else.
    pub(crate) async fn idle(bot: &Bot) -> Probes {
        let prober = Self::start(bot);
        until("an idle bot answers", || {
            prober.asking.is_finished() || prober.taken.lock().unwrap().len() >= IDLE
        })
        .await;
        prober.end().await
    }

    /// Returns the probes that were answered.
    pub(crate) async fn end(self) -> Probes {
        self.is_over.store(true, Ordering::Relaxed);
        self.asking.await.unwrap();
        let mut taken = std::mem::take(&mut *self.taken.lock().unwrap());
        taken.sort();
        Probes(taken)
    }
}

/// How many times the slowest idle probes those under attack may take, by their median. The attacks
/// and suites use all the machine's processors, so a probe that shares them takes longer.
const USUAL: u32 = 10;

/// Times of answered probes in order.
pub(crate) struct Probes(Vec<Duration>);

impl Probes {
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Asserts that half the probes took about as long as those of the idle bot.
    pub(crate) fn assert_usual(&self, idle: &Self) {
        let (median, usual) = (self.percentile(50), idle.percentile(99));
        assert!(
            median <= usual * USUAL,
            "p50 {median:.1?} under attack, p99 {usual:.1?} without"
        );
    }

    /// Returns the time that a share of the probes did not exceed.
    fn percentile(&self, percent: usize) -> Duration {
        self.0[(self.0.len() * percent).div_ceil(100) - 1]
    }
}

impl fmt::Display for Probes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, slow] = [50, 99].map(|percent| self.percentile(percent));
        write!(
            f,
            "{} probes, p50 {median:.1?}, p99 {slow:.1?}",
            self.0.len()
        )
    }
}
