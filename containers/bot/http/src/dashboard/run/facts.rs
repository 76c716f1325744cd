//! A run's facts: origin, and use beside the limits.

use ars_agent::money::dollars;
use ars_bot_core::{
    queries::{RunLimits, RunView},
    registry::RunUse,
};
use serde_json::{Value, json};

/// Characters shown from a commit.
const COMMIT_CHARS: usize = 12;

/// A single fact. The script finds it by key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) key: &'static str,
    pub(super) name: &'static str,
    pub(super) value: String,
}

/// Returns the cost so far in millionths of a dollar, or `None` if any part has no known price.
fn cost_so_far(used: &RunUse, limits: &RunLimits) -> Option<u64> {
    let price = limits.price?;
    (!used.has_other_model).then(|| price.cost(used.usage))
}

/// Returns the facts in display order; a live run has every key, so that the page never moves.
pub(super) fn facts(run: &RunView, limits: &RunLimits) -> Vec<Fact> {
    let is_live = run.finished.is_none();
    let used = &run.used;
    let meta = run.events.iter().find(|event| event["type"] == "run_meta");
    let of_meta = |name: &str| meta.and_then(|meta| meta[name].as_str()).map(str::to_owned);
    let commit = of_meta("headSha").map(|sha| sha.chars().take(COMMIT_CHARS).collect());
    let git_ref = with_pull_request(of_meta("ref"), meta.and_then(|meta| meta["pr"].as_u64()));
    let limited = |text: String, limit: Option<String>| match limit.filter(|_| is_live) {
        Some(limit) => format!("{text} of {limit}"),
        None => text,
    };
    let is_known = |number: u64| is_live || number > 0;
    let cost = match run.cost {
        Some(cost) => Some(dollars(cost)),
        None => is_live.then(|| match cost_so_far(used, limits) {
            Some(cost) => limited(dollars(cost), limits.cost.map(dollars)),
            None => "unknown".to_owned(),
        }),
    };
    let window = limits.window.map(count);
    let fact = |key, name, value: Option<String>| {
        let value = value.or_else(|| is_live.then(|| "–".to_owned()))?;
        Some(Fact { key, name, value })
    };
    let facts = [
        fact("agent", "Agent", run.agent.clone()),
        fact("model", "Model", run.model.clone()),
        fact("effort", "Effort", of_meta("effort")),
        fact("repository", "Repository", run.repo.clone()),
        fact("ref", "Ref", git_ref),
        fact("commit", "Commit", commit),
        fact(
            "turns",
            "Turns",
            is_known(used.turns).then(|| {
                limited(
                    used.turns.to_string(),
                    limits.turns.map(|turns| turns.to_string()),
                )
            }),
        ),
        fact(
            "calls",
            "Tool calls",
            is_known(used.calls).then(|| used.calls.to_string()),
        ),
        fact(
            "context",
            "Context",
            is_known(used.context_tokens).then(|| limited(count(used.context_tokens), window)),
        ),
        fact("cost", "Cost", cost),
        run.reflection_cost.map(|cost| Fact {
            key: "reflection",
            name: "Reflection",
            value: dollars(cost),
        }),
    ];
    facts.into_iter().flatten().collect()
}

/// Returns the ref with the pull request that the run is about. `assets/facts.js` has the same text.
fn with_pull_request(git_ref: Option<String>, number: Option<u64>) -> Option<String> {
    let number = number.map(|number| format!("pull request {number}"));
    match (git_ref, number) {
        (Some(git_ref), Some(number)) => Some(format!("{git_ref} · {number}")),
        (git_ref, number) => git_ref.or(number),
    }
}

/// Returns the totals and limits from which the script continues to count, as JSON.
pub(super) fn counters(run: &RunView, limits: &RunLimits) -> Value {
    let RunUse {
        turns,
        calls,
        usage,
        has_other_model,
        ..
    } = run.used;
    let microusd = limits.price.map_or(0, |price| price.cost(usage));
    let is_unpriced = has_other_model || (limits.price.is_none() && usage != Default::default());
    json!({
        "turns": turns, "calls": calls, "microusd": microusd, "isUnpriced": is_unpriced, "model": run.model,
        "limits": {"turns": limits.turns, "microusd": limits.cost, "window": limits.window},
        "price": limits.price,
    })
}

/// Returns a number with a unit: `950`, `12.3k`, `4.1M`.
fn count(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..10_000 => format!("{}.{}k", number / 1_000, number % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", number / 1_000),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use ars_agent::{Usage, money::Price};
    use ars_types::RunStatus;

    use super::*;
    use crate::dashboard::run::parts::sample;

    const LIMITS: RunLimits = RunLimits {
        turns: Some(60),
        cost: Some(2_000_000),
        window: Some(128_000),
        price: Some(Price {
            input: 3_000_000,
            output: 15_000_000,
            cache_read: 300_000,
            cache_write: 3_750_000,
        }),
    };

    /// A run with fewer kept events than its use counts.
    fn run() -> RunView {
        let mut run = sample("m/one");
        run.events = vec![
            json!({"type": "run_meta", "headSha": "8f2b1c94d0aa7e55", "ref": "main", "pr": 12}),
        ];
        let usage = Usage {
            input_tokens: 20_000,
            output_tokens: 2_000,
            ..Usage::default()
        };
        run.used = RunUse {
            turns: 1,
            calls: 1,
            context_tokens: 11_000,
            usage,
            has_other_model: false,
        };
        run
    }

    fn value(run: &RunView, limits: &RunLimits, key: &str) -> Option<String> {
        facts(run, limits)
            .into_iter()
            .find(|fact| fact.key == key)
            .map(|fact| fact.value)
    }

    #[test]
    fn live_run_shows_use_beside_limits() {
        let run = run();
        for (key, expected) in [
            ("turns", "1 of 60"),
            ("calls", "1"),
            ("context", "11k of 128k"),
            ("cost", "$0.09 of $2.00"),
            ("commit", "8f2b1c94d0aa"),
            ("ref", "main · pull request 12"),
            ("effort", "–"),
        ] {
            assert_eq!(
                value(&run, &LIMITS, key).as_deref(),
                Some(expected),
                "{key}"
            );
        }
        let unpriced = RunLimits {
            price: None,
            ..LIMITS
        };
        assert_eq!(value(&run, &unpriced, "cost").as_deref(), Some("unknown"));
        let used = RunUse {
            has_other_model: true,
            ..run.used
        };
        let mixed = RunView { used, ..run };
        assert_eq!(value(&mixed, &LIMITS, "cost").as_deref(), Some("unknown"));
    }

    /// The configuration may have changed since the run ended.
    #[test]
    fn finished_run_shows_no_limit() {
        let mut run = run();
        run.finished = Some((5, RunStatus::Completed));
        assert_eq!(value(&run, &LIMITS, "turns").as_deref(), Some("1"));
        assert_eq!(
            (value(&run, &LIMITS, "cost"), value(&run, &LIMITS, "effort")),
            (None, None)
        );
        run.cost = Some(1_250_000);
        assert_eq!(value(&run, &LIMITS, "cost").as_deref(), Some("$1.25"));
    }
}
