//! Two hundred runs at once in a process, each with a slow model, beside a run alone.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::Size;
use super::figures::{mb, routes, spread};
use crate::bench::aims::Verdicts;
use crate::bench::bot::{Bench, Programs};
use crate::bench::model::{Call, Script};
use crate::bench::process::{Usage, peak_kb, resident_kb};
use crate::terminal::Step;

/// Pause before each response event: a turn lasts two seconds, a hundred a second come together.
const PAUSE: Duration = Duration::from_millis(300);

/// Measures and prints concurrent runs.
pub fn run(programs: &Programs, size: Size, _verdicts: &mut Verdicts) -> Result<()> {
    println!();
    for runs in [1, size.at_once] {
        let step = Step::begin(&format!("{runs} runs at once"));
        let line = measure(programs, runs, size.turns_at_once)?;
        step.done("");
        println!("{line}");
    }
    println!(
        "A turn's overhead is from the last event of its model's answer to the next call: storing the step, the tool."
    );
    Ok(())
}

fn measure(programs: &Programs, runs: u32, turns: u32) -> Result<String> {
    let bench = Bench::start(
        programs,
        Script {
            turns,
            pause: PAUSE,
            ..Script::default()
        },
    )?;
    let empty = resident_kb(bench.pid())?;
    let before = Usage::read(bench.pid())?;
    let began = Instant::now();
    for mark in 0..runs {
        bench.begin(&format!("many{mark}"))?;
    }
    let calls = bench.model.calls(runs * (turns + 1))?;
    let mut overheads = overheads(&calls, &bench.model.answers(runs * turns)?);
    bench.recorded()?;
    let took = began.elapsed();
    let used = Usage::read(bench.pid())?.since(before);
    let asked = bench.counts()?;
    let flushes = asked.get("/runs/flush").copied().unwrap_or_default();
    Ok(format!(
        "{runs} runs of {turns} turns in {:.1} s: overhead of a turn {}; CPU/turn {:.2} ms; peak {:.1} MB, {:.2} MB a run; {:.1} flushes a second\n  {}",
        took.as_secs_f64(),
        spread(&mut overheads),
        (used.own + used.children).as_secs_f64() * 1000.0 / f64::from(runs * turns),
        mb(peak_kb(bench.pid())?),
        mb(peak_kb(bench.pid())?.saturating_sub(empty)) / f64::from(runs),
        flushes as f64 / took.as_secs_f64(),
        routes(&asked)
    ))
}

/// The times from each answer to the same run's next call.
fn overheads(calls: &[Call], answers: &[Call]) -> Vec<Duration> {
    let mut next: HashMap<&str, VecDeque<Instant>> = HashMap::new();
    for call in calls {
        next.entry(&call.mark).or_default().push_back(call.at);
    }
    // A run's first call follows no answer.
    for calls in next.values_mut() {
        calls.pop_front();
    }
    let until_next = |answer: &Call| {
        let at = next.get_mut(answer.mark.as_str())?.pop_front()?;
        Some(at.duration_since(answer.at))
    };
    answers.iter().filter_map(until_next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overhead_ends_at_the_runs_next_call() {
        let began = Instant::now();
        let call = |mark: &str, ms: u64| Call {
            mark: mark.to_owned(),
            at: began + Duration::from_millis(ms),
        };
        let calls = [
            call("a", 0),
            call("b", 1),
            call("a", 110),
            call("b", 130),
            call("a", 215),
        ];
        let answers = [call("a", 100), call("b", 101), call("a", 210)];
        let ms: Vec<_> = overheads(&calls, &answers)
            .iter()
            .map(Duration::as_millis)
            .collect();
        assert_eq!(ms, [10, 29, 5]);
    }
}
