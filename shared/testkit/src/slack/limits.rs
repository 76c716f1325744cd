//! Rate limits by method, on the workspace's clock.

use std::collections::BTreeMap;

/// Microseconds in a second.
const SECOND: u64 = 1_000_000;
/// Messages that a channel accepts in [`POST_WINDOW`]: one a second, with short bursts.
const POSTS: usize = 10;
/// Window for posted messages in microseconds.
const POST_WINDOW: u64 = 10 * SECOND;
/// Window for other calls in microseconds.
const WINDOW: u64 = 60 * SECOND;

/// How often a method may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tier {
    /// This many calls in a minute.
    PerMinute(usize),
    /// The limit of posted messages, for each channel.
    Post,
}

/// Times of recent calls; without effect until enforced.
#[derive(Debug, Default)]
pub(super) struct Limits {
    pub(super) is_enforced: bool,
    recent: BTreeMap<(String, String), Vec<u64>>,
}

impl Limits {
    /// Counts a call. Returns seconds until the next permitted one if it exceeds the limit.
    pub(super) fn count(
        &mut self,
        tier: Tier,
        method: &str,
        channel: &str,
        now: u64,
    ) -> Option<u64> {
        if !self.is_enforced {
            return None;
        }
        let (most, window, channel) = match tier {
            Tier::PerMinute(most) => (most, WINDOW, ""),
            Tier::Post => (POSTS, POST_WINDOW, channel),
        };
        let key = (method.to_owned(), channel.to_owned());
        let recent = self.recent.entry(key).or_default();
        recent.retain(|at| at + window > now);
        if recent.len() < most {
            recent.push(now);
            return None;
        }
        let free = recent[0] + window - now;
        Some(free.div_ceil(SECOND))
    }
}
