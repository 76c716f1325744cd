//! One pass over the stream: pair calls with results, find what slowed the run, sum it up.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use crate::{
    diagnosis::{Category, Diagnosis, Finding, Interval, Severity, Totals},
    install::is_install,
    reading::{Seen, at, read},
    verdict::verdict,
};

/// A tool is slow from here (document 2 section 2.6).
const SLOW_TOOL_MS: i64 = 30_000;
/// A model turn is slow from here (document 2 section 2.6).
const SLOW_MODEL_TURN_MS: i64 = 60_000;
/// A slow thing is severe at this multiple of its threshold (document 2 section 2.6).
const HIGH_AT: i64 = 2;

/// How to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// A tool is slow from here, in milliseconds.
    pub slow_tool_ms: i64,
    /// A model turn is slow from here, in milliseconds.
    pub slow_model_turn_ms: i64,
    /// The stream is complete: a call without a result is a failure, not work under way.
    pub finished: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { slow_tool_ms: SLOW_TOOL_MS, slow_model_turn_ms: SLOW_MODEL_TURN_MS, finished: true }
    }
}

/// Diagnoses a stream.
pub fn analyze(events: &[Value], options: &Options) -> Diagnosis {
    let mut pass = Pass::new(options);
    for (index, event) in events.iter().enumerate() {
        pass.see(index, event);
    }
    pass.close()
}

/// A call that waits for its result.
struct Open<'a> {
    index: usize,
    at: Option<i64>,
    tool: &'a str,
    summary: &'a str,
    install: bool,
    answered: bool,
}

struct Pass<'a> {
    options: &'a Options,
    calls: Vec<Open<'a>>,
    by_id: HashMap<&'a str, usize>,
    by_tool: HashMap<&'a str, VecDeque<usize>>,
    failed: HashSet<(&'a str, &'a str)>,
    findings: Vec<Finding>,
    slow_turn: Option<Finding>,
    last_index: usize,
    event_count: u64,
    clock: Option<Interval>,
    tool_time_ms: i64,
    model_time_ms: i64,
    timed_tools: bool,
    timed_turns: bool,
}

impl<'a> Pass<'a> {
    fn new(options: &'a Options) -> Self {
        Self {
            options,
            calls: Vec::new(),
            by_id: HashMap::new(),
            by_tool: HashMap::new(),
            failed: HashSet::new(),
            findings: Vec::new(),
            slow_turn: None,
            last_index: 0,
            event_count: 0,
            clock: None,
            tool_time_ms: 0,
            model_time_ms: 0,
            timed_tools: false,
            timed_turns: false,
        }
    }

    fn see(&mut self, index: usize, event: &'a Value) {
        self.last_index = index;
        let at = at(event);
        let seen = read(event);
        if !matches!(seen, Seen::Aside { .. } | Seen::ModelTurn { .. }) {
            self.event_count += 1;
        }
        if !matches!(seen, Seen::Aside { moves_clock: false } | Seen::ModelTurn { .. }) {
            self.tick(at);
            // A slow turn is anchored at the first event it produced.
            if let Some(mut turn) = self.slow_turn.take() {
                turn.event_index = index;
                self.findings.push(turn);
            }
        }
        match seen {
            Seen::Call { tool, summary, call_id, command } => {
                self.call(index, at, tool, summary, call_id, command);
            }
            Seen::Result { tool, ok, infra, call_id } => self.result(index, at, tool, ok, infra, call_id),
            Seen::Note(kind) => self.note(index, at, kind),
            Seen::ModelTurn { started_at, duration_ms } => self.model_turn(index, started_at, duration_ms),
            Seen::Content | Seen::Aside { .. } => {}
        }
    }

    fn tick(&mut self, at: Option<i64>) {
        if let Some(at) = at {
            let clock = self.clock.get_or_insert(Interval { start: at, end: at });
            clock.start = clock.start.min(at);
            clock.end = clock.end.max(at);
        }
    }

    fn call(
        &mut self,
        index: usize,
        at: Option<i64>,
        tool: &'a str,
        summary: &'a str,
        call_id: Option<&'a str>,
        command: Option<&'a str>,
    ) {
        let shell =
            if tool == "bash" { command.or(summary.strip_prefix("$ ")).unwrap_or_default() } else { "" };
        let position = self.calls.len();
        self.calls.push(Open { index, at, tool, summary, install: is_install(shell), answered: false });
        self.by_tool.entry(tool).or_default().push_back(position);
        if let Some(id) = call_id {
            self.by_id.insert(id, position);
        }
        if self.failed.contains(&(tool, summary)) {
            self.find(
                Category::Retry,
                Severity::Low,
                format!("{tool} was called again after it failed"),
                index,
                tool,
                None,
            );
        }
    }

    /// By call id when there is one, else the oldest open call of the same tool.
    fn open_call(&mut self, tool: &str, call_id: Option<&str>) -> Option<usize> {
        if let Some(position) = call_id.and_then(|id| self.by_id.remove(id)) {
            return Some(position);
        }
        let queue = self.by_tool.get_mut(tool)?;
        while let Some(position) = queue.pop_front() {
            if !self.calls[position].answered {
                return Some(position);
            }
        }
        None
    }

    fn result(
        &mut self,
        index: usize,
        at: Option<i64>,
        tool: &'a str,
        ok: bool,
        infra: bool,
        call_id: Option<&'a str>,
    ) {
        let position = self.open_call(tool, call_id);
        let call = position.map(|position| &mut self.calls[position]);
        let (anchor, began, summary, install) = match call {
            Some(call) => {
                call.answered = true;
                (call.index, call.at, call.summary, call.install)
            }
            None => (index, None, "", false),
        };
        let interval =
            began.zip(at).filter(|(start, end)| end >= start).map(|(start, end)| Interval { start, end });
        if let Some(interval) = interval {
            self.tool_time_ms += interval.ms();
            self.timed_tools = true;
        }
        if !ok {
            self.failed.insert((tool, summary));
        }
        let ms = interval.map_or(0, Interval::ms);
        let slow = ms >= self.options.slow_tool_ms;
        let very_slow = ms >= self.options.slow_tool_ms.saturating_mul(HIGH_AT);
        let (category, severity, what) = match (infra, install, ok) {
            (true, _, _) => (Category::InfraFailure, Severity::High, "failed with its sandbox or transport"),
            (_, true, false) => (Category::SetupInstall, Severity::High, "failed to install"),
            (_, true, true) if slow => (Category::SetupInstall, Severity::Medium, "installed for long"),
            (_, true, true) => (Category::SetupInstall, Severity::Low, "installed"),
            (_, _, false) if slow => (Category::FailedTool, Severity::High, "failed after a long time"),
            (_, _, false) => (Category::FailedTool, Severity::Medium, "failed"),
            (_, _, true) if very_slow => (Category::SlowTool, Severity::High, "was very slow"),
            (_, _, true) if slow => (Category::SlowTool, Severity::Medium, "was slow"),
            _ => return,
        };
        self.find(category, severity, format!("{tool} {what}: {summary}"), anchor, tool, interval);
    }

    fn note(&mut self, index: usize, at: Option<i64>, kind: &str) {
        let (category, severity, summary) = match kind {
            "wrap_up" => (Category::WrapUp, Severity::Medium, "the run was told to wrap up"),
            "time_budget_exhausted" => (Category::BudgetHit, Severity::High, "the time budget ended the run"),
            "turn_budget_exhausted" => (Category::BudgetHit, Severity::High, "the turn budget ended the run"),
            "sandbox_dead" => (Category::InfraFailure, Severity::High, "the sandbox stopped working"),
            "fleet_busy" => (Category::InfraFailure, Severity::Medium, "no sandbox was free"),
            _ => return,
        };
        // A wrap-up lasts to the end of the run, which `close` fills in.
        let interval = at.filter(|_| category == Category::WrapUp).map(|at| Interval { start: at, end: at });
        self.find(category, severity, summary.to_owned(), index, "", interval);
    }

    fn model_turn(&mut self, index: usize, started_at: i64, duration_ms: i64) {
        self.model_time_ms += duration_ms.max(0);
        self.timed_turns = true;
        if duration_ms < self.options.slow_model_turn_ms {
            return;
        }
        let high = duration_ms >= self.options.slow_model_turn_ms.saturating_mul(HIGH_AT);
        self.slow_turn = Some(Finding {
            category: Category::SlowModelTurn,
            severity: if high { Severity::High } else { Severity::Medium },
            summary: "the model took long to answer".into(),
            event_index: index,
            tool: None,
            duration_ms: Some(duration_ms),
            interval: Some(Interval { start: started_at, end: started_at.saturating_add(duration_ms) }),
        });
    }

    fn find(
        &mut self,
        category: Category,
        severity: Severity,
        summary: String,
        event_index: usize,
        tool: &str,
        interval: Option<Interval>,
    ) {
        let tool = (!tool.is_empty()).then(|| tool.to_owned());
        let duration_ms = interval.map(Interval::ms);
        self.findings.push(Finding { category, severity, summary, event_index, tool, duration_ms, interval });
    }

    fn close(mut self) -> Diagnosis {
        self.findings.extend(self.slow_turn.take());
        if self.options.finished {
            let unanswered: Vec<_> =
                self.calls.iter().filter(|call| !call.answered).map(|call| (call.index, call.tool)).collect();
            for (index, tool) in unanswered {
                let summary = format!("{tool} never answered");
                self.find(Category::InfraFailure, Severity::High, summary, index, tool, None);
            }
        }
        if let Some(clock) = self.clock {
            for finding in self.findings.iter_mut().filter(|finding| finding.category == Category::WrapUp) {
                finding.interval = finding.interval.map(|interval| Interval { end: clock.end, ..interval });
                finding.duration_ms = finding.interval.map(Interval::ms);
            }
        }
        self.findings.sort_by_key(|finding| finding.event_index);
        let by_category = totals(&self.findings);
        let mut diagnosis = Diagnosis {
            event_count: self.event_count,
            tool_calls: self.calls.len() as u64,
            has_timings: self.clock.is_some(),
            run_ms: self.clock.map(Interval::ms),
            tool_time_ms: self.timed_tools.then_some(self.tool_time_ms),
            model_time_ms: self.timed_turns.then_some(self.model_time_ms),
            by_category,
            findings: self.findings,
            verdict: String::new(),
        };
        diagnosis.verdict = verdict(&diagnosis);
        diagnosis
    }
}

/// Tool-type categories and slow turns sum their findings; the others take the union of their intervals.
fn totals(findings: &[Finding]) -> Totals {
    let mut totals = Totals::default();
    for category in Category::ALL {
        let own = findings.iter().filter(|finding| finding.category == category);
        let total = totals.of_mut(category);
        total.count = own.clone().count() as u64;
        total.duration_ms = if category.is_tool_type() || category == Category::SlowModelTurn {
            own.filter_map(|finding| finding.duration_ms).sum()
        } else {
            union_ms(own.filter_map(|finding| finding.interval).collect())
        };
    }
    totals
}

fn union_ms(mut intervals: Vec<Interval>) -> i64 {
    intervals.sort_by_key(|interval| interval.start);
    let mut covered_to = i64::MIN;
    let mut sum = 0;
    for interval in intervals {
        sum += (interval.end - interval.start.max(covered_to)).max(0);
        covered_to = covered_to.max(interval.end);
    }
    sum
}

#[cfg(test)]
#[path = "analyze_tests.rs"]
mod tests;
