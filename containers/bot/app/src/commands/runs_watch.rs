//! `ars runs watch <id>`: follows a service's run until it ends, over the `/api` commands.

use std::{io, process::ExitCode, time::Duration};

use anyhow::anyhow;
use ars_events::unwrap_untrusted;
use ars_types::{RunId, RunStatus};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    Failure,
    follow::{show, steps, with_texts},
    reconnect::Reconnect,
    registry::Server,
};
use crate::{args::RunsWatch, error::is_success};

/// Interval between requests for new events after the last request brought some.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Greatest interval, for a run that works long on a single step.
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Commands that a service offers.
trait Service {
    /// Invokes a command with this input. Returns the output as JSON.
    async fn post(&self, command: &str, input: &Value) -> Result<String, Failure>;
}

impl Service for &Server {
    async fn post(&self, command: &str, input: &Value) -> Result<String, Failure> {
        self.query(command, input).await
    }
}

/// A service's run that is watched.
struct Watched<S> {
    service: S,
    id: RunId,
    /// Last printed event's seq.
    after: u64,
    /// The last resumption point that was seen.
    resumed: Option<Resumed>,
    /// Only a connection that worked before is retried.
    has_answered: bool,
}

/// The `runs.get` facts that matter here.
#[derive(Deserialize)]
struct Run {
    /// The whole id, for a shortened id.
    id: Option<RunId>,
    finished: bool,
    status: Option<RunStatus>,
}

/// Output from `runs.events`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    events: Vec<Value>,
    next_after_seq: Option<u64>,
    resumed: Option<Resumed>,
}

/// The point at which another service process continued the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resumed {
    at: i64,
    after_seq: u64,
}

/// Prints each step, then the answer. The exit code follows the run's status
/// (docs/reference/cli.md#exit-codes).
pub async fn run(args: RunsWatch) -> Result<ExitCode, Failure> {
    let service = Server::at(&args.server)?;
    let steps = steps();
    watch(&service, args.id, |event| show(&steps, event)).await
}

/// Shows each event in a run until it ends, without the delimiters around the texts.
pub(super) async fn watch(
    service: &Server,
    id: RunId,
    show: impl Fn(Value) -> io::Result<()>,
) -> Result<ExitCode, Failure> {
    Watched {
        service,
        id,
        after: 0,
        resumed: None,
        has_answered: false,
    }
    .follow(|event| show(plain(event)))
    .await
}

fn ended(status: Option<RunStatus>) -> Result<ExitCode, Failure> {
    match status {
        Some(status) if is_success(status) => Ok(ExitCode::SUCCESS),
        Some(status) => Err(Failure::Failed(format!(
            "the status of the run is {status}"
        ))),
        None => Err(Failure::Failed(
            "the status of the run is unknown".to_owned(),
        )),
    }
}

impl<S: Service> Watched<S> {
    /// Shows each event until the run ends.
    async fn follow(mut self, show: impl Fn(Value) -> io::Result<()>) -> Result<ExitCode, Failure> {
        let mut interval = POLL_INTERVAL;
        loop {
            // Read before the events, so that the last events in a run that ends now are not
            // missed.
            let run: Run = self.post("runs.get", &json!({ "id": self.id })).await?;
            if let Some(id) = run.id {
                self.id = id;
            }
            while let Some(events) = self.next_events().await? {
                for event in events {
                    show(event)?;
                }
                interval = POLL_INTERVAL;
            }
            if run.finished {
                return ended(run.status);
            }
            tokio::time::sleep(interval).await;
            interval = (interval * 2).min(MAX_POLL_INTERVAL);
        }
    }

    /// Returns the next event page, or `None` without new events.
    async fn next_events(&mut self) -> Result<Option<Vec<Value>>, Failure> {
        let mut page = self.page().await?;
        if page.resumed.is_some() && page.resumed != self.resumed {
            self.resumed = page.resumed;
            let stored = page.resumed.map_or(0, |resumed| resumed.after_seq);
            // Later events died with the earlier process, and their seqs were given to others.
            if self.after > stored {
                self.after = stored;
                page = self.page().await?;
            }
        }
        let before = self.after;
        let Page {
            events,
            next_after_seq,
            ..
        } = page;
        let last = events
            .iter()
            .filter_map(|event| event["seq"].as_u64())
            .max();
        self.after = self.after.max(next_after_seq.or(last).unwrap_or(0));
        Ok(Some(events).filter(|_| self.after > before))
    }

    async fn page(&mut self) -> Result<Page, Failure> {
        let input = json!({ "id": self.id, "afterSeq": self.after });
        self.post("runs.events", &input).await
    }

    /// Invokes a command. Retries while the service cannot be reached or has an outage.
    async fn post<T: DeserializeOwned>(
        &mut self,
        command: &str,
        input: &Value,
    ) -> Result<T, Failure> {
        let mut reconnect = Reconnect::default();
        let json = loop {
            match self.service.post(command, input).await {
                Err(failure) if self.has_answered && failure.is_outage() => {
                    if !reconnect.wait().await {
                        return Err(failure);
                    }
                }
                answer => break answer?,
            }
        };
        reconnect.succeeded();
        self.has_answered = true;
        serde_json::from_str(&json).map_err(|error| {
            Failure::Unavailable(
                anyhow!(error).context(format!("the output of {command} is invalid")),
            )
        })
    }
}

/// Removes the delimiters around an event's texts. They are for programs that pass them to a model.
fn plain(event: Value) -> Value {
    with_texts(event, &|text| {
        unwrap_untrusted(&text).map(str::to_owned).unwrap_or(text)
    })
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, collections::VecDeque};

    use tokio::time::Instant;

    use super::*;

    const LIVE: &str = r#"{"finished":false}"#;
    const NONE: &str = r#"{"events":[]}"#;
    const STEP: &str = r#"{"events":[{"seq":7}]}"#;

    /// Gives the answers in order, `None` for an outage. Afterwards it is gone.
    struct Scripted<'a> {
        answers: RefCell<VecDeque<Option<&'a str>>>,
        /// Each request's seconds since the start, command and `afterSeq`.
        asked: &'a RefCell<Vec<(f64, String, Value)>>,
        began: Instant,
    }

    impl Service for Scripted<'_> {
        async fn post(&self, command: &str, input: &Value) -> Result<String, Failure> {
            let at = self.began.elapsed().as_secs_f64();
            self.asked
                .borrow_mut()
                .push((at, command.to_owned(), input["afterSeq"].clone()));
            let answer = self.answers.borrow_mut().pop_front().flatten();
            answer
                .map(str::to_owned)
                .ok_or_else(|| Failure::Unavailable(anyhow!("gone")))
        }
    }

    /// Returns the end, the shown events and the requests for a run with these answers.
    async fn watch(
        answers: &[Option<&str>],
    ) -> (Result<ExitCode, Failure>, usize, Vec<(f64, String, Value)>) {
        let asked = RefCell::default();
        let shown = RefCell::new(0);
        let answers = RefCell::new(answers.iter().copied().collect());
        let service = Scripted {
            answers,
            asked: &asked,
            began: Instant::now(),
        };
        let id = RunId::parse("r1").unwrap();
        let watched = Watched {
            service,
            id,
            after: 0,
            resumed: None,
            has_answered: false,
        };
        let show = |_| {
            *shown.borrow_mut() += 1;
            Ok(())
        };
        let ended = watched.follow(show).await;
        (ended, shown.into_inner(), asked.into_inner())
    }

    /// Returns the seconds between `runs.get` requests.
    fn intervals(asked: &[(f64, String, Value)]) -> Vec<f64> {
        let times: Vec<f64> = asked
            .iter()
            .filter(|ask| ask.1 == "runs.get")
            .map(|ask| ask.0)
            .collect();
        times
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).round())
            .collect()
    }

    #[tokio::test(start_paused = true)]
    async fn interval_grows_without_new_events() {
        let quiet = [Some(LIVE), Some(NONE)];
        let mut answers = quiet.repeat(5);
        answers.extend([Some(LIVE), Some(STEP), Some(NONE)]);
        answers.extend([
            Some(r#"{"finished":true,"status":"completed"}"#),
            Some(NONE),
        ]);
        let (ended, shown, asked) = watch(&answers).await;
        assert!(ended.is_ok());
        assert_eq!(
            (shown, intervals(&asked)),
            (1, vec![1.0, 2.0, 4.0, 5.0, 5.0, 1.0])
        );
    }

    #[tokio::test(start_paused = true)]
    async fn failing_first_connection_is_final() {
        let (ended, _, asked) = watch(&[]).await;
        assert!(matches!(ended, Err(Failure::Unavailable(_))));
        assert_eq!(asked.len(), 1);
    }

    /// Four minutes are about 30 attempts. The requests after them continue after the last event.
    #[tokio::test(start_paused = true)]
    async fn watch_continues_after_four_minutes_without_service() {
        let mut answers = vec![Some(LIVE), Some(STEP)];
        answers.extend([None; 28]);
        answers.extend([
            Some(NONE),
            Some(r#"{"finished":true,"status":"failed"}"#),
            Some(NONE),
        ]);
        let (ended, shown, asked) = watch(&answers).await;
        assert!(matches!(ended, Err(Failure::Failed(text)) if text.contains("failed")));
        assert_eq!(shown, 1);
        let events = asked.iter().filter(|ask| ask.1 == "runs.events");
        let cursors: Vec<&Value> = events.map(|ask| &ask.2).collect();
        assert!(
            cursors[0] == 0 && cursors[1..].iter().all(|after| **after == 7),
            "{cursors:?}"
        );
        assert!(asked.last().unwrap().0 > 225.0, "{asked:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn longer_outage_ends_the_watch() {
        let (ended, _, asked) = watch(&[Some(LIVE), Some(NONE)]).await;
        assert!(matches!(ended, Err(Failure::Unavailable(_))));
        let last = asked.last().unwrap().0;
        assert!((285.0..305.0).contains(&last), "{last}");
    }

    /// A page that does not advance is no new page, so that a faulty service causes no endless loop.
    #[tokio::test(start_paused = true)]
    async fn repeated_page_is_shown_once() {
        let ended = r#"{"finished":true,"status":"stopped_soft"}"#;
        let (ended, shown, asked) = watch(&[Some(ended), Some(STEP), Some(STEP)]).await;
        assert!(ended.is_ok());
        assert_eq!((shown, asked.len()), (1, 3));
    }

    /// Two processes died in turn. The second stored no event, so the third resumed at the same
    /// seq.
    #[tokio::test(start_paused = true)]
    async fn watch_steps_back_once_per_resumed_process() {
        let second = r#"{"events":[{"seq":4},{"seq":5}],"resumed":{"at":10,"afterSeq":3}}"#;
        let third = r#"{"events":[{"seq":4}],"resumed":{"at":20,"afterSeq":3}}"#;
        let none = |page: &str| {
            page.replace(r#"{"seq":4},{"seq":5}"#, "")
                .replace(r#"{"seq":4}"#, "")
        };
        let (second_none, third_none) = (none(second), none(third));
        let ended = r#"{"finished":true,"status":"completed"}"#;
        let answers = [
            LIVE,
            STEP,
            NONE, // seq 7 of the first process
            LIVE,
            &second_none,
            second,
            &second_none, // back to 3
            LIVE,
            &second_none,
            ended,
            &third_none,
            third,
            &third_none, // and again
        ];
        let (ended, shown, asked) = watch(&answers.map(Some)).await;
        assert!(ended.is_ok());
        assert_eq!(shown, 4);
        let events = asked.iter().filter(|ask| ask.1 == "runs.events");
        let cursors: Vec<_> = events.map(|ask| ask.2.as_u64().unwrap()).collect();
        assert_eq!(cursors, [0, 7, 7, 3, 5, 5, 5, 3, 4]);
    }
}
