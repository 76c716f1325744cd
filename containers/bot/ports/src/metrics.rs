//! The bot's metrics: every metric name, and a function for each counted event.
//!
//! Labels come from closed sets (agents, statuses, configured providers, tools the run has), so
//! that no request can grow the number of series or put text into a label. Not here: the collector
//! (`ars-bot-telemetry`), without which every call is a no-op. docs/logging.md lists the metrics
//! for operators.

use std::time::Duration;

use ::metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use ars_agent::Usage;
use ars_types::RunStatus;

const RUNS_STARTED: &str = "ars_runs_started_total";
const RUNS_FINISHED: &str = "ars_runs_finished_total";
const RUN_SECONDS: &str = "ars_run_duration_seconds";
const IN_FLIGHT: &str = "ars_in_flight";
const MODEL_TURNS: &str = "ars_model_turns_total";
const MODEL_TURN_SECONDS: &str = "ars_model_turn_duration_seconds";
const MODEL_TOKENS: &str = "ars_model_tokens_total";
const COST: &str = "ars_cost_microdollars_total";
const TOOL_CALLS: &str = "ars_tool_calls_total";
const TOOL_SECONDS: &str = "ars_tool_duration_seconds";
const LEDGER_FLUSHES: &str = "ars_ledger_flushes_total";
const LEDGER_EVENTS: &str = "ars_ledger_events_flushed_total";
const STORE_SECONDS: &str = "ars_store_request_duration_seconds";
const VIEWERS: &str = "ars_stream_viewers";
const REFUSED: &str = "ars_requests_refused_total";
const QUEUED_RUNS: &str = "ars_queued_runs";
const QUEUE_SECONDS: &str = "ars_run_queue_duration_seconds";
const LOST_RECORDS: &str = "ars_run_records_lost_total";

/// Label for a tool that the run does not have, because a model can invent any name.
const UNKNOWN_TOOL: &str = "unknown";

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The call succeeded.
    Ok,
    /// The call itself failed.
    Failed,
    /// The infrastructure failed: the sandbox or the network.
    Infra,
}

impl Outcome {
    /// Returns `Ok` or `Failed`.
    pub fn from_result<T, E>(result: &Result<T, E>) -> Self {
        if result.is_ok() {
            Self::Ok
        } else {
            Self::Failed
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Infra => "infra",
        }
    }
}

/// Registers each metric's description. Call it once, after the collector is installed.
pub fn describe() {
    describe_counter!(RUNS_STARTED, "Runs started, by agent");
    describe_counter!(RUNS_FINISHED, "Runs finished, by agent and status");
    describe_histogram!(
        RUN_SECONDS,
        "Time from a run's start to its finish, by agent and status"
    );
    describe_gauge!(IN_FLIGHT, "Dispatches and post-run work in flight");
    describe_counter!(MODEL_TURNS, "Model turns, by provider and outcome");
    describe_histogram!(
        MODEL_TURN_SECONDS,
        "Time of a model turn with its retries, by provider and outcome"
    );
    describe_counter!(MODEL_TOKENS, "Tokens, by provider and kind");
    describe_counter!(
        COST,
        "Cost of model turns, in millionths of a dollar, by provider"
    );
    describe_counter!(TOOL_CALLS, "Tool calls, by tool and outcome");
    describe_histogram!(TOOL_SECONDS, "Time of a tool call, by tool and outcome");
    describe_counter!(LEDGER_FLUSHES, "Flushes to the live-run ledger, by outcome");
    describe_counter!(LEDGER_EVENTS, "Events that the live-run ledger took in");
    describe_histogram!(
        STORE_SECONDS,
        "Time of a store request, by operation and outcome"
    );
    describe_gauge!(VIEWERS, "Viewers that follow a stream");
    describe_counter!(REFUSED, "Requests refused because of a limit, by limit");
    describe_gauge!(QUEUED_RUNS, "Runs that wait for a slot");
    describe_histogram!(QUEUE_SECONDS, "Time that a run waited for a slot");
    describe_counter!(LOST_RECORDS, "Final run records that could not be written");
    // Alerts compare with an earlier value, so the series must exist before the first loss.
    counter!(LOST_RECORDS).absolute(0);
}

/// Counts a run that started.
pub fn run_started(agent: &'static str) {
    counter!(RUNS_STARTED, "agent" => agent).increment(1);
}

/// Counts an ended run, with the duration.
pub fn run_finished(agent: &'static str, status: RunStatus, took: Duration) {
    counter!(RUNS_FINISHED, "agent" => agent, "status" => status.as_str()).increment(1);
    histogram!(RUN_SECONDS, "agent" => agent, "status" => status.as_str()).record(took);
}

/// Sets the number of dispatches and pending post-run work in flight.
pub fn in_flight(count: u64) {
    gauge!(IN_FLIGHT).set(count as f64);
}

/// Counts a model turn, including retries. `provider` names a configured provider.
pub fn model_turn(provider: &str, outcome: Outcome, took: Duration) {
    let provider = provider.to_owned();
    counter!(MODEL_TURNS, "provider" => provider.clone(), "outcome" => outcome.as_str())
        .increment(1);
    histogram!(MODEL_TURN_SECONDS, "provider" => provider, "outcome" => outcome.as_str())
        .record(took);
}

/// Counts a model turn's tokens and, if the model has a price, the cost in millionths of a dollar.
pub fn model_usage(provider: &str, usage: Usage, microdollars: Option<u64>) {
    let kinds = [
        ("input", usage.input_tokens),
        ("output", usage.output_tokens),
        ("cache_read", usage.cache_read_tokens),
        ("cache_write", usage.cache_write_tokens),
    ];
    for (kind, tokens) in kinds {
        counter!(MODEL_TOKENS, "provider" => provider.to_owned(), "kind" => kind).increment(tokens);
    }
    if let Some(microdollars) = microdollars {
        counter!(COST, "provider" => provider.to_owned()).increment(microdollars);
    }
}

/// Counts a tool call. `tool` is `None` if the run has no tool with the name the model gave.
pub fn tool_call(tool: Option<&str>, outcome: Outcome, took: Duration) {
    let tool = tool.unwrap_or(UNKNOWN_TOOL).to_owned();
    counter!(TOOL_CALLS, "tool" => tool.clone(), "outcome" => outcome.as_str()).increment(1);
    histogram!(TOOL_SECONDS, "tool" => tool, "outcome" => outcome.as_str()).record(took);
}

/// Counts a flush to the ledger and the events it carried.
pub fn ledger_flush(outcome: Outcome, events: usize) {
    counter!(LEDGER_FLUSHES, "outcome" => outcome.as_str()).increment(1);
    if outcome == Outcome::Ok {
        counter!(LEDGER_EVENTS).increment(events as u64);
    }
}

/// Counts a request to a store. `operation` is a route or a verb, never a path with an id.
pub fn store_request(operation: &'static str, outcome: Outcome, took: Duration) {
    histogram!(STORE_SECONDS, "operation" => operation, "outcome" => outcome.as_str()).record(took);
}

/// Counts a request that a limit refuses. `limit` is the limit's setting name.
pub fn refused(limit: &'static str) {
    counter!(REFUSED, "limit" => limit).increment(1);
}

/// Sets the number of runs that wait for a slot.
pub fn queued_runs(count: usize) {
    gauge!(QUEUED_RUNS).set(count as f64);
}

/// Records how long a run waited for a slot.
pub fn run_left_queue(waited: Duration) {
    histogram!(QUEUE_SECONDS).record(waited);
}

/// Counts a lost final record.
pub fn record_lost() {
    counter!(LOST_RECORDS).increment(1);
}

/// Counts a stream's viewer until dropped.
#[derive(Debug)]
pub struct Viewer(());

/// Counts a viewer until it is dropped.
pub fn viewer() -> Viewer {
    gauge!(VIEWERS).increment(1);
    Viewer(())
}

impl Drop for Viewer {
    fn drop(&mut self) {
        gauge!(VIEWERS).decrement(1);
    }
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    /// Returns the rendered metrics after `happen` ran.
    fn rendered(happen: impl FnOnce()) -> String {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        ::metrics::with_local_recorder(&recorder, happen);
        handle.render()
    }

    #[track_caller]
    fn assert_has(text: &str, lines: &[&str]) {
        for line in lines {
            assert!(
                text.lines().any(|has| has == *line),
                "no {line:?} in\n{text}"
            );
        }
    }

    #[test]
    fn run_start_and_end_are_counted() {
        let text = rendered(|| {
            run_started("coding");
            run_finished("coding", RunStatus::StoppedSoft, Duration::from_secs(3));
            in_flight(2);
        });
        let lines = [
            "ars_runs_started_total{agent=\"coding\"} 1",
            "ars_runs_finished_total{agent=\"coding\",status=\"stopped_soft\"} 1",
            "ars_run_duration_seconds_sum{agent=\"coding\",status=\"stopped_soft\"} 3",
            "ars_in_flight 2",
        ];
        assert_has(&text, &lines);
    }

    #[test]
    fn model_turn_counts_tokens_and_cost() {
        let usage = Usage {
            input_tokens: 10,
            output_tokens: 20,
            cache_read_tokens: 30,
            cache_write_tokens: 40,
        };
        let text = rendered(|| {
            model_turn("anthropic", Outcome::Ok, Duration::from_millis(500));
            model_usage("anthropic", usage, Some(1_500));
            model_usage("local", usage, None);
        });
        let lines = [
            "ars_model_turns_total{provider=\"anthropic\",outcome=\"ok\"} 1",
            "ars_model_turn_duration_seconds_sum{provider=\"anthropic\",outcome=\"ok\"} 0.5",
            "ars_model_tokens_total{provider=\"anthropic\",kind=\"input\"} 10",
            "ars_model_tokens_total{provider=\"anthropic\",kind=\"output\"} 20",
            "ars_model_tokens_total{provider=\"anthropic\",kind=\"cache_read\"} 30",
            "ars_model_tokens_total{provider=\"local\",kind=\"cache_write\"} 40",
            "ars_cost_microdollars_total{provider=\"anthropic\"} 1500",
        ];
        assert_has(&text, &lines);
        assert!(
            !text.contains("ars_cost_microdollars_total{provider=\"local\"}"),
            "unpriced is not free"
        );
    }

    #[test]
    fn tools_that_do_not_exist_share_one_series() {
        let text = rendered(|| {
            tool_call(Some("bash"), Outcome::Failed, Duration::from_secs(1));
            tool_call(None, Outcome::Failed, Duration::ZERO);
            tool_call(None, Outcome::Failed, Duration::ZERO);
        });
        let lines = [
            "ars_tool_calls_total{tool=\"bash\",outcome=\"failed\"} 1",
            "ars_tool_calls_total{tool=\"unknown\",outcome=\"failed\"} 2",
        ];
        assert_has(&text, &lines);
    }

    #[test]
    fn store_and_ledger_requests_are_timed() {
        let text = rendered(|| {
            describe();
            ledger_flush(Outcome::from_result(&Ok::<_, ()>(())), 7);
            ledger_flush(Outcome::from_result(&Err::<(), _>(())), 9);
            store_request("/runs/put", Outcome::Ok, Duration::from_secs(2));
        });
        let lines = [
            "ars_ledger_flushes_total{outcome=\"ok\"} 1",
            "ars_ledger_flushes_total{outcome=\"failed\"} 1",
            "ars_ledger_events_flushed_total 7",
            "ars_store_request_duration_seconds_sum{operation=\"/runs/put\",outcome=\"ok\"} 2",
            "ars_run_records_lost_total 0",
            "# HELP ars_ledger_flushes_total Flushes to the live-run ledger, by outcome",
        ];
        assert_has(&text, &lines);
        assert_has(&rendered(record_lost), &["ars_run_records_lost_total 1"]);
    }

    #[test]
    fn a_viewer_counts_until_it_leaves() {
        let text = rendered(|| {
            let (stays, leaves) = (viewer(), viewer());
            drop(leaves);
            // Another recorder would count the drop.
            std::mem::forget(stays);
        });
        assert_has(&text, &["ars_stream_viewers 1"]);
    }
}
