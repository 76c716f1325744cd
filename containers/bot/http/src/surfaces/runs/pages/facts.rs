//! The facts of a run: its origin, and what it has used beside its limits.

use ars_agent::{Usage, money::dollars};
use ars_bot_core::queries::{RunLimits, RunView};
use serde_json::{Value, json};

/// Characters of a commit.
const COMMIT_CHARS: usize = 12;

/// One fact. The script finds it by its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) key: &'static str,
    pub(super) name: &'static str,
    pub(super) value: String,
}

/// What a run has used, by its events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Used {
    turns: u64,
    calls: u64,
    context: u64,
    microusd: u64,
    /// A turn has no known price.
    is_unpriced: bool,
}

impl Used {
    fn of(run: &RunView, limits: &RunLimits) -> Self {
        let mut used = Self::default();
        for event in &run.events {
            match event["type"].as_str() {
                Some("tool_call") => used.calls += 1,
                Some("span_end") if event["name"] == "model.turn" => {
                    used.add_turn(&event["attrs"], run.model.as_deref(), limits);
                }
                _ => {}
            }
        }
        used
    }

    fn add_turn(&mut self, attrs: &Value, model: Option<&str>, limits: &RunLimits) {
        if attrs["purpose"].is_null() {
            self.turns += 1;
        }
        if attrs["usage"].is_null() {
            return;
        }
        let tokens = |name: &str| attrs["usage"][name].as_u64().unwrap_or_default();
        let usage = Usage {
            input_tokens: tokens("inputTokens"),
            output_tokens: tokens("outputTokens"),
            cache_read_tokens: tokens("cacheReadTokens"),
            cache_write_tokens: tokens("cacheWriteTokens"),
        };
        let Usage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = usage;
        self.context = [input_tokens, output_tokens, cache_read_tokens, cache_write_tokens].iter().sum();
        let is_own_model = attrs["model"].as_str().is_none_or(|name| Some(name) == model);
        match limits.price.filter(|_| is_own_model) {
            Some(price) => self.microusd += price.cost(usage),
            None => self.is_unpriced = true,
        }
    }
}

/// Returns the facts in display order; a live run has every key, so that the page never moves.
pub(super) fn facts(run: &RunView, limits: &RunLimits) -> Vec<Fact> {
    let is_live = run.finished.is_none();
    let used = Used::of(run, limits);
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
        None if used.is_unpriced || limits.price.is_none() => is_live.then(|| "unknown".to_owned()),
        None => is_live.then(|| limited(dollars(used.microusd), limits.cost.map(dollars))),
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
            is_known(used.turns)
                .then(|| limited(used.turns.to_string(), limits.turns.map(|turns| turns.to_string()))),
        ),
        fact("calls", "Tool calls", is_known(used.calls).then(|| used.calls.to_string())),
        fact("context", "Context", is_known(used.context).then(|| limited(count(used.context), window))),
        fact("cost", "Cost", cost),
        run.reflection_cost.map(|cost| Fact { key: "reflection", name: "Reflection", value: dollars(cost) }),
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
    let Used { turns, calls, context: _, microusd, is_unpriced } = Used::of(run, limits);
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
    use ars_agent::money::Price;
    use ars_types::RunStatus;

    use super::*;
    use crate::surfaces::runs::pages::run::sample;

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

    fn run() -> RunView {
        let turn = |purpose: Option<&str>, model: &str| {
            let usage = json!({"inputTokens": 10_000, "outputTokens": 1_000});
            let attrs = json!({"model": model, "purpose": purpose, "usage": usage});
            json!({"type": "span_end", "name": "model.turn", "attrs": attrs})
        };
        let mut run = sample("m/one");
        run.events = vec![
            json!({"type": "run_meta", "headSha": "8f2b1c94d0aa7e55", "ref": "main", "pr": 12}),
            turn(None, "m/one"),
            json!({"type": "tool_call"}),
            turn(Some("summary"), "m/one"),
        ];
        run
    }

    fn value(run: &RunView, limits: &RunLimits, key: &str) -> Option<String> {
        facts(run, limits).into_iter().find(|fact| fact.key == key).map(|fact| fact.value)
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
            assert_eq!(value(&run, &LIMITS, key).as_deref(), Some(expected), "{key}");
        }
        let unpriced = RunLimits { price: None, ..LIMITS };
        assert_eq!(value(&run, &unpriced, "cost").as_deref(), Some("unknown"));
    }

    /// The configuration may have changed since its end.
    #[test]
    fn finished_run_shows_no_limit() {
        let mut run = run();
        run.finished = Some((5, RunStatus::Completed));
        assert_eq!(value(&run, &LIMITS, "turns").as_deref(), Some("1"));
        assert_eq!((value(&run, &LIMITS, "cost"), value(&run, &LIMITS, "effort")), (None, None));
        run.cost = Some(1_250_000);
        assert_eq!(value(&run, &LIMITS, "cost").as_deref(), Some("$1.25"));
    }
}
