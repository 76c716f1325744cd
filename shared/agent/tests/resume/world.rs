//! A run of twelve steps against durable stores, killed at a chosen effect.
//!
//! The driver is minimal and keeps the order of writes. The decisions are the shipped ones.

use std::collections::{BTreeMap, HashMap};

use ars_agent::{
    Part, Role, Sandbox, ToolCall, ToolContent, ToolOutcome, Turn,
    resume::{Attempts, Decision, RunState, Settle, assemble, decide, encode, outcomes, pack},
};
use ars_types::RunStatus;
use ars_wire::{
    ledger::{Call, StepRecord},
    transcript::{Part as Row, Transcript},
};
use serde_json::{Map, Value, json};

use crate::support::{calls, effects, reclaimed, request};

/// Steps that call tools; the answer after them calls none.
pub const STEPS: u64 = 12;
/// Follow-ups, by the number of turns of the conversation at which they arrive.
const FOLLOW_UPS: [usize; 3] = [3, 8, 19];

/// The calls of the model at a step.
fn tools(step: u64) -> &'static [&'static str] {
    match step % 6 {
        0 => &["read_file", "bash", "read_file"],
        1 => &["bash"],
        2 => &["update_status"],
        3 => &["write_file", "edit_file"],
        4 => &["read_file", "search"],
        _ => &["unknown_tool", "bash", "bash"],
    }
}

/// The effect at which a process dies, and whether the effect took place.
#[derive(Debug, Clone, Copy)]
pub struct Kill {
    pub at: usize,
    pub landed: bool,
}

/// A process is gone.
#[derive(Debug)]
pub struct Killed;

/// Something that outlives the process that does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// Request `nth` of `of` that stores the turns of a step, so many of them.
    Turns { step: u64, turns: usize, nth: usize, of: usize },
    /// A step's record.
    Record { step: u64 },
    /// The attempts in the state.
    Attempts,
    /// A call.
    Call,
    /// The final status.
    Ending,
}

/// How a process's life ended.
#[derive(Debug, PartialEq)]
pub enum End {
    Answered(Vec<Turn>),
    Closed(RunStatus),
}

/// The stores, which survive every process.
#[derive(Default)]
pub struct World {
    rows: BTreeMap<(u64, u64), String>,
    records: BTreeMap<u64, StepRecord>,
    state: Map<String, Value>,
    ran: HashMap<String, u32>,
    /// Rows in one request; all that fit when 0.
    rows_per_request: usize,
    kill: Option<Kill>,
    done: usize,
    /// The last deed of the last process.
    pub last: Option<Deed>,
}

/// The run in one process.
struct Loop {
    turns: Vec<Turn>,
    stored: usize,
    record: StepRecord,
}

impl World {
    pub fn new(rows_per_request: usize) -> Self {
        Self { rows_per_request, ..Self::default() }
    }

    fn count(&mut self, attempts: Attempts) {
        let state = RunState { attempts: Some(attempts), ..RunState::of_row(&self.state) };
        self.state = state.to_row();
    }

    /// The next process dies there, or lives on.
    pub fn kill(&mut self, kill: Option<Kill>) {
        (self.kill, self.done) = (kill, 0);
    }

    /// Deeds of the process so far.
    pub fn deeds(&self) -> usize {
        self.done
    }

    pub fn ran(&self, call: &str) -> u32 {
        self.ran.get(call).copied().unwrap_or(0)
    }

    pub fn transcript(&self) -> Transcript {
        let rows =
            self.rows.iter().map(|((idx, part), json)| Row { idx: *idx, part: *part, json: json.clone() });
        Transcript { rows: rows.collect(), attachments: Vec::new() }
    }

    pub fn decide(&self) -> Decision {
        let last = self.records.last_key_value().map(|(_, record)| record.clone());
        decide(&reclaimed("live", last, json!({ "state": self.state })), self.transcript(), effects)
    }

    /// The first process.
    pub fn begin(&mut self) -> Result<End, Killed> {
        let mut run = Loop { turns: vec![request()], stored: 0, record: StepRecord::default() };
        self.store_step(&mut run)?;
        self.go_on(run)
    }

    /// The next process.
    pub fn take_over(&mut self) -> Result<End, Killed> {
        match self.decide() {
            Decision::Close { status, .. } => Ok(End::Closed(status)),
            Decision::Resume(resume) => {
                self.deed(Deed::Attempts, |world| world.count(resume.attempts))?;
                assert!(resume.turns == assemble(self.transcript()).turns, "a stored turn was lost");
                let mut reran = Vec::new();
                for settled in resume.settle.iter().filter(|settled| settled.how == Settle::RunAgain) {
                    reran.push(self.run(&settled.call)?);
                }
                let stored = resume.turns.len();
                let mut run = Loop { turns: resume.turns, stored, record: resume.record };
                if !resume.settle.is_empty() {
                    run.answer(outcomes(&resume.settle, reran));
                }
                self.go_on(run)
            }
            Decision::RunStep(step) => {
                self.deed(Deed::Attempts, |world| world.count(step.attempts))?;
                let stored = step.turns.len();
                let mut run = Loop { turns: step.turns, stored, record: step.record };
                self.store_step(&mut run)?;
                self.run_all(&mut run, &step.calls)?;
                self.go_on(run)
            }
        }
    }

    fn go_on(&mut self, mut run: Loop) -> Result<End, Killed> {
        loop {
            run.take_follow_ups();
            let step = run.turns.iter().filter(|turn| turn.role == Role::Assistant).count() as u64 + 1;
            if step > STEPS {
                self.deed(Deed::Ending, |world| {
                    let mut state = RunState::of_row(&world.state);
                    state.set_ended(RunStatus::Completed, false);
                    world.state = state.to_row();
                })?;
                return Ok(End::Answered(run.turns));
            }
            let ids: Vec<_> = (0..tools(step).len()).map(|call| format!("s{step}c{call}")).collect();
            let made: Vec<_> = ids.iter().map(String::as_str).zip(tools(step).iter().copied()).collect();
            run.turns.push(calls(&made));
            run.record.step += 1;
            run.record.in_flight =
                made.iter().map(|(id, tool)| Call { call_id: (*id).into(), tool: (*tool).into() }).collect();
            self.store_step(&mut run)?;
            let wanted: Vec<_> = made
                .iter()
                .map(|(id, tool)| ToolCall {
                    call_id: (*id).into(),
                    name: (*tool).into(),
                    input: Value::Null,
                })
                .collect();
            self.run_all(&mut run, &wanted)?;
        }
    }

    /// Turns first, record second.
    fn store_step(&mut self, run: &mut Loop) -> Result<(), Killed> {
        let new = &run.turns[run.stored..];
        let encoded = encode(run.stored as u64, new, run.record.inbox_consumed_seq).unwrap();
        let packed: Vec<_> = pack(encoded).into_iter().flat_map(|batch| batch.rows).collect();
        let size = if self.rows_per_request == 0 { packed.len().max(1) } else { self.rows_per_request };
        let (step, of) = (run.record.step, packed.len().div_ceil(size));
        for (nth, request) in packed.chunks(size).enumerate() {
            self.deed(Deed::Turns { step, turns: new.len(), nth, of }, |world| {
                world.rows.extend(request.iter().map(|row| ((row.idx, row.part), row.json.clone())));
            })?;
        }
        run.stored = run.turns.len();
        run.record.turn_index = run.stored as u64;
        let record = run.record.clone();
        self.deed(Deed::Record { step }, |world| {
            world.records.insert(step, record);
        })
    }

    fn run_all(&mut self, run: &mut Loop, calls: &[ToolCall]) -> Result<(), Killed> {
        let outcomes = calls.iter().map(|call| self.run(call)).collect::<Result<_, _>>()?;
        run.answer(outcomes);
        Ok(())
    }

    fn run(&mut self, call: &ToolCall) -> Result<ToolOutcome, Killed> {
        let id = call.call_id.clone();
        assert!(!self.has_result(&id), "{id} runs although its result is stored");
        self.deed(Deed::Call, |world| *world.ran.entry(id.clone()).or_default() += 1)?;
        let content = vec![ToolContent::Text { text: format!("result {} of {id}", self.ran(&id)) }];
        Ok(ToolOutcome { call_id: id, ok: true, sandbox: Sandbox::Works, content })
    }

    fn has_result(&self, id: &str) -> bool {
        let result = format!(r#""kind":"tool_result","callId":"{id}""#);
        self.rows.values().any(|json| json.contains(&result))
    }

    fn deed(&mut self, deed: Deed, act: impl FnOnce(&mut Self)) -> Result<(), Killed> {
        self.last = Some(deed);
        let dies = self.kill.filter(|kill| kill.at == self.done);
        self.done += 1;
        if dies.is_none_or(|kill| kill.landed) {
            act(self);
        }
        dies.map_or(Ok(()), |_| Err(Killed))
    }
}

impl Loop {
    fn answer(&mut self, outcomes: Vec<ToolOutcome>) {
        let parts = outcomes.into_iter().map(|outcome| Part::ToolResult {
            call_id: outcome.call_id,
            ok: outcome.ok,
            content: outcome.content,
        });
        self.turns.push(Turn { role: Role::User, parts: parts.collect() });
    }

    /// Follow-ups not taken yet join the user's turn.
    fn take_follow_ups(&mut self) {
        let arrived = FOLLOW_UPS.iter().filter(|at| **at <= self.turns.len()).count() as u64;
        let Some(turn) = self.turns.last_mut() else { return };
        for seq in self.record.inbox_consumed_seq + 1..=arrived {
            turn.parts.push(Part::text(follow_up(seq)));
        }
        self.record.inbox_consumed_seq = self.record.inbox_consumed_seq.max(arrived);
    }
}

fn follow_up(seq: u64) -> String {
    format!("follow-up {seq}")
}

/// A whole conversation: every call answered once, in order, by the turn after it; every follow-up there once.
pub fn assert_sound(turns: &[Turn], world: &World) {
    for pair in turns[1..].chunks(2) {
        let [asked, answered] = pair else { panic!("a turn without its answer") };
        let made = asked.parts.iter().filter_map(|part| match part {
            Part::ToolCall { call_id, .. } => Some(call_id),
            _ => None,
        });
        let given = answered.parts.iter().filter_map(|part| match part {
            Part::ToolResult { call_id, .. } => Some(call_id),
            _ => None,
        });
        assert!(made.eq(given), "calls and results differ");
    }
    assert_eq!(turns.len() as u64, 1 + 2 * STEPS);
    for seq in 1..=FOLLOW_UPS.len() as u64 {
        let told =
            turns.iter().flat_map(|turn| &turn.parts).filter(|part| **part == Part::text(follow_up(seq)));
        assert_eq!(told.count(), 1, "follow-up {seq}");
    }
    assert_no_repetition(world);
}

/// Nothing that may not run again ran twice.
pub fn assert_no_repetition(world: &World) {
    for step in 1..=STEPS {
        for (number, tool) in tools(step).iter().enumerate() {
            let id = format!("s{step}c{number}");
            if ["bash", "edit_file"].contains(tool) {
                assert!(world.ran(&id) <= 1, "{tool} call {id} ran {} times", world.ran(&id));
            }
        }
    }
}
