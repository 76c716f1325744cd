//! The polls for the second reply of a command, which follows once its effect has settled.

use std::future::Future;

use ars_commands::Settle;
use tokio::time::{Instant, sleep};

use super::error::CommandError;

/// Polls until there is a text. A failed poll is repeated, because the first reply was sent already.
pub(super) async fn poll<F>(limits: Settle, mut text: impl FnMut() -> F) -> Option<String>
where
    F: Future<Output = Result<Option<String>, CommandError>>,
{
    let began = Instant::now();
    while began.elapsed() < limits.within {
        sleep(limits.every).await;
        if let Ok(Some(text)) = text().await {
            return Some(text);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, time::Duration};

    use super::*;

    const LIMITS: Settle = Settle { every: Duration::from_secs(10), within: Duration::from_secs(35) };

    async fn polled(answers: Vec<Result<Option<String>, CommandError>>) -> (Option<String>, u64) {
        let answers = RefCell::new(answers.into_iter());
        let began = Instant::now();
        let text = poll(LIMITS, async || answers.borrow_mut().next().unwrap_or(Ok(None))).await;
        (text, began.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn text_ends_the_polls() {
        let done = Some("ready".to_owned());
        let answers = vec![Ok(None), Err(CommandError::stopped()), Ok(done.clone())];
        assert_eq!(polled(answers).await, (done, 30));
    }

    #[tokio::test(start_paused = true)]
    async fn polls_end_in_time_without_a_text() {
        assert_eq!(polled(Vec::new()).await, (None, 40));
    }
}
