//! Polls for a command's second reply, which follows once the effect has settled.

use std::future::Future;

use ars_commands::Settle;
use tokio::time::{Instant, sleep};

use super::error::CommandError;

/// An effect's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Settled {
    /// It is not known yet.
    Pending,
    /// With the second reply.
    Reply(String),
    /// There is no second reply.
    Silent,
}

/// How the polls ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Polled {
    /// With the second reply.
    Reply(String),
    /// There is no second reply.
    Silent,
    /// The effect did not settle in time.
    Late,
}

/// Polls until the effect has settled.
/// A failed poll is repeated, because the first reply was sent already.
pub(super) async fn poll<F>(limits: Settle, mut settled: impl FnMut() -> F) -> Polled
where
    F: Future<Output = Result<Settled, CommandError>>,
{
    let began = Instant::now();
    while began.elapsed() < limits.within {
        sleep(limits.every).await;
        match settled().await {
            Ok(Settled::Reply(text)) => return Polled::Reply(text),
            Ok(Settled::Silent) => return Polled::Silent,
            Ok(Settled::Pending) | Err(_) => {}
        }
    }
    Polled::Late
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, time::Duration};

    use super::*;

    const LIMITS: Settle = Settle {
        every: Duration::from_secs(10),
        within: Duration::from_secs(35),
    };

    async fn polled(answers: Vec<Result<Settled, CommandError>>) -> (Polled, u64) {
        let answers = RefCell::new(answers.into_iter());
        let began = Instant::now();
        let end = poll(LIMITS, async || {
            answers.borrow_mut().next().unwrap_or(Ok(Settled::Pending))
        })
        .await;
        (end, began.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn settled_effect_ends_the_polls() {
        let reply = || Ok(Settled::Reply("ready".to_owned()));
        let answers = vec![Ok(Settled::Pending), Err(CommandError::stopped()), reply()];
        assert_eq!(
            polled(answers).await,
            (Polled::Reply("ready".to_owned()), 30)
        );
        assert_eq!(
            polled(vec![Ok(Settled::Silent), reply()]).await,
            (Polled::Silent, 10)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn polls_end_in_time() {
        assert_eq!(polled(Vec::new()).await, (Polled::Late, 40));
    }
}
