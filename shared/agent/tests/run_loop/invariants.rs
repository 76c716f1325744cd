//! Invariants for every run, however model, tools, requester and clock behave.

use std::collections::BTreeMap;

use ars_agent::{
    Action, Budget, Input, Limits, Loop, Part, Purpose, Role, StopReason, Turn, Usage,
    context::{ContextLimit, estimate_turns},
    money::{MoneyCap, Price},
};
use ars_events::{EventBody, NoteKind};
use proptest::{collection::vec, prelude::*};

use crate::support::{
    MINUTE, REQUEST, START, asks, ending, flat, inputs, is_paired, message, notes, results_of,
    says, used,
};

const TURNS: u32 = 6;
const PRICE: Price = Price {
    input: 3_000_000,
    output: 15_000_000,
    cache_read: 300_000,
    cache_write: 3_750_000,
};

/// How the world answers an action list.
#[derive(Debug, Clone)]
struct World {
    /// The model's response to the call.
    model: Model,
    /// Tools it asks for.
    calls: usize,
    /// Characters per output, or in the prose.
    chars: usize,
    infra: bool,
    minutes: i64,
    /// Messages that arrive before the answer.
    messages: u64,
    stop: Option<Stop>,
    /// A new process carries the run on before the answer.
    resumes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Model {
    Answers,
    Pauses,
    Fails,
    TimesOut,
    CannotHold,
    SaysNothing,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stop {
    Soft,
    Hard,
}

fn world() -> impl Strategy<Value = World> {
    let model = prop_oneof![
        20 => Just(Model::Answers),
        2 => Just(Model::Pauses),
        1 => Just(Model::Fails),
        1 => Just(Model::TimesOut),
        2 => Just(Model::CannotHold),
        1 => Just(Model::SaysNothing),
    ];
    let stop =
        prop_oneof![30 => Just(None), 1 => Just(Some(Stop::Soft)), 1 => Just(Some(Stop::Hard))];
    let messages = prop_oneof![3 => Just(0_u64), 1 => 1_u64..3];
    let minutes = prop_oneof![3 => Just(0_i64), 1 => 1_i64..6];
    let infra = prop_oneof![5 => Just(false), 1 => Just(true)];
    (
        model,
        0_usize..4,
        0_usize..6_000,
        infra,
        minutes,
        messages,
        stop,
        any::<bool>(),
    )
        .prop_map(
            |(model, calls, chars, infra, minutes, messages, stop, resumes)| World {
                model,
                calls,
                chars,
                infra,
                minutes,
                messages,
                stop,
                resumes,
            },
        )
}

fn limits() -> impl Strategy<Value = Limits> {
    let context = prop_oneof![Just(None), Just(Some(ContextLimit::new(6_000, 1_000)))];
    let cap = prop_oneof![
        2 => Just(None),
        1 => (0_u64..60_000).prop_map(|run_microusd| Some(MoneyCap { run_microusd })),
    ];
    let price = prop_oneof![1 => Just(None), 5 => Just(Some(PRICE))];
    (context, cap, price).prop_map(|(context, cap, price)| Limits {
        context,
        price,
        cap,
    })
}

/// Records what a run under test does.
struct Run {
    agent: Loop,
    now: i64,
    /// All turns stored, as the transcript has them.
    stored: Vec<Turn>,
    actions: Vec<Action>,
    last: Option<Input>,
    sent: u64,
    delivered: BTreeMap<String, usize>,
    answers: u32,
    summaries: u32,
    is_stopping: bool,
    /// The last summary asked for came to nothing, and no step has begun since.
    lacks_summary: bool,
}

impl Run {
    fn begin(limits: Limits) -> Self {
        let budget = Budget {
            turns: TURNS,
            time_ms: 20 * MINUTE,
        };
        let history = [
            says_turn("earlier"),
            Turn {
                role: Role::Assistant,
                parts: vec![Part::text("yes")],
            },
        ];
        let turns = history
            .into_iter()
            .chain([says_turn(REQUEST)])
            .collect::<Vec<_>>();
        let agent = Loop::new(budget, turns.clone(), START).with_limits(limits);
        let mut run = Self {
            agent,
            now: START,
            stored: turns,
            actions: Vec::new(),
            last: None,
            sent: 0,
            delivered: BTreeMap::new(),
            answers: 0,
            summaries: 0,
            is_stopping: false,
            lacks_summary: false,
        };
        run.feed(Input::Start);
        run
    }

    fn is_over(&self) -> bool {
        ending(&self.actions).is_some()
    }

    /// Feeds the input, stores the driver's writes, and checks the result.
    fn feed(&mut self, input: Input) {
        self.last = Some(input.clone());
        self.actions = self.agent.step(input, self.now);
        for text in inputs(&self.actions) {
            *self.delivered.entry(text.to_owned()).or_default() += 1;
        }
        let (last, before) = self.actions.split_last().unwrap();
        assert!(
            before
                .iter()
                .all(|action| matches!(action, Action::Publish(_))),
            "{:?}",
            self.actions
        );
        if matches!(last, Action::RunTools(_)) {
            self.store();
        }
    }

    fn store(&mut self) {
        let new = self.agent.turns_since(self.stored.len() as u64);
        self.stored.extend_from_slice(new);
        assert_eq!(
            self.stored.len() as u64,
            self.agent.position(self.now).turn_index
        );
    }

    /// Another process resumes from the stored state, and the ledger offers the inbox again.
    fn move_on(&mut self) {
        self.store();
        let saved = serde_json::to_string(&self.agent.saved()).unwrap();
        assert!(saved.len() < 6_000, "{}", saved.len());
        let position = self.agent.position(self.now);
        let saved = serde_json::from_str(&saved).unwrap();
        let mut resumed = Loop::resume(saved, position, self.stored.clone(), self.now);
        resumed.step(Input::Steered(self.agent.unconsumed().to_vec()), self.now);
        assert_eq!(resumed.position(self.now), position);
        if !self.awaits(Purpose::Compact) {
            assert_eq!(flat(resumed.turns()), flat(self.agent.turns()));
        }
        self.agent = resumed;
        if self.awaits_model() {
            self.feed(Input::Start);
        }
    }

    fn awaits(&self, wanted: Purpose) -> bool {
        matches!(self.actions.last(), Some(Action::CallModel { purpose, .. }) if *purpose == wanted)
    }

    fn awaits_model(&self) -> bool {
        matches!(self.actions.last(), Some(Action::CallModel { .. }))
    }

    /// The stored state allows a resume.
    fn can_move_on(&self) -> bool {
        let ends_on_user = self
            .agent
            .turns()
            .last()
            .is_some_and(|turn| turn.role == Role::User);
        !self.awaits_model() || ends_on_user
    }

    fn answer(&mut self, world: &World) -> Input {
        let chars = world.chars;
        match self.actions.last().unwrap() {
            Action::RunTools(calls) => results_of(calls, chars, world.infra),
            Action::CallModel { limit_ms, .. } => {
                let is_over = world.minutes * MINUTE > *limit_ms;
                match world.model {
                    _ if is_over => Input::ModelTimedOut,
                    Model::TimesOut => Input::ModelTimedOut,
                    Model::Fails => Input::ModelFailed("no".into()),
                    Model::CannotHold => Input::ContextTooLong("too long".into()),
                    Model::Pauses => says(&"p".repeat(chars), StopReason::PauseTurn),
                    Model::SaysNothing => says("", StopReason::EndTurn),
                    Model::Answers if world.calls == 0 => {
                        says(&"a".repeat(chars), StopReason::EndTurn)
                    }
                    // At any purpose, because a model may ask for tools although it must not.
                    Model::Answers => used(
                        asks(&["bash", "update_status", "x"][..world.calls]),
                        self.usage(),
                    ),
                }
            }
            other => panic!("nothing to wait for after {other:?}"),
        }
    }

    fn usage(&self) -> Usage {
        Usage {
            input_tokens: estimate_turns(self.agent.turns()) + 300,
            output_tokens: 50,
            ..Usage::default()
        }
    }

    fn count(&mut self) {
        match self.actions.last() {
            Some(Action::CallModel {
                purpose: Purpose::Answer,
                ..
            }) => self.answers += 1,
            Some(Action::CallModel {
                purpose: Purpose::Compact,
                ..
            }) => self.summaries += 1,
            _ => {}
        }
    }

    /// Plays a single turn of the world.
    fn turn(&mut self, world: &World) {
        self.count();
        self.now += world.minutes * MINUTE;
        for _ in 0..world.messages {
            self.sent += 1;
            let text = format!("message {}", self.sent);
            self.agent
                .step(Input::Steered(vec![message(self.sent, &text)]), self.now);
        }
        match world.stop {
            Some(Stop::Soft) => {
                self.is_stopping = true;
                self.agent.step(Input::SoftStop, self.now);
            }
            Some(Stop::Hard) => {
                self.feed(Input::HardStop);
                return;
            }
            None => {}
        }
        let input = self.answer(world);
        let is_summary = self.awaits(Purpose::Compact);
        self.feed(input);
        let is_kept = self.actions.iter().any(|action| matches!(
            action,
            Action::Publish(EventBody::RunNote { summary, .. }) if summary.ends_with("replaced by a summary")
        ));
        self.lacks_summary = self.awaits_model() && (self.lacks_summary || is_summary && !is_kept);
    }

    fn notes_after_end(&mut self) -> Vec<Action> {
        let mut actions = Vec::new();
        for late in [
            asks(&["bash"]),
            Input::Tools(vec![]),
            Input::Start,
            Input::HardStop,
        ] {
            actions.extend(self.agent.step(late, self.now));
        }
        actions
    }
}

fn says_turn(text: &str) -> Turn {
    Turn::text(Role::User, text)
}

/// Plays the worlds until the run ends; they begin anew when they are used up.
fn play(run: &mut Run, worlds: &[World], mut each: impl FnMut(&mut Run, &World)) {
    for world in worlds.iter().cycle().take(400) {
        if run.is_over() {
            return;
        }
        each(run, world);
        run.turn(world);
    }
}

proptest! {
    /// Every run ends, and after that nothing happens. It makes at most twice as many model calls
    /// for steps as it has turns (a call may be repeated three times when the conversation is too
    /// long), and at most one summary before each.
    #[test]
    fn every_run_ends_within_its_budget(limits in limits(), worlds in vec(world(), 1..40)) {
        let mut run = Run::begin(limits);
        play(&mut run, &worlds, |_, _| {});
        prop_assert!(run.is_over());
        let steps = TURNS * 2;
        prop_assert!(run.agent.steps() <= steps + 1, "{} calls", run.agent.steps());
        prop_assert!(run.answers <= steps * 4, "{} answers asked for", run.answers);
        prop_assert!(run.summaries <= run.answers + 1, "{} summaries", run.summaries);
        prop_assert!(run.notes_after_end().iter().all(|action| *action == Action::Wait));
    }

    /// The sent conversation suits every provider, has the request, and is within the limit or minimal.
    #[test]
    fn sent_conversation_is_paired_and_fits(limits in limits(), worlds in vec(world(), 1..40)) {
        let mut run = Run::begin(limits);
        let mut failed = None;
        play(&mut run, &worlds, |run, _| {
            let Some(Action::CallModel { purpose, .. }) = run.actions.last() else { return };
            let turns = run.agent.turns();
            let has_request = flat(turns).iter().any(|(_, part)| **part == Part::text(REQUEST));
            if !is_paired(turns) || !has_request || turns[0].role != Role::User {
                failed = Some(turns.to_vec());
            }
            // Only outputs are dropped, never text from the model or for it.
            let large = |part: &Part| matches!(part, Part::ToolResult { content, .. } if format!("{content:?}").len() > 800);
            let droppable = flat(turns).iter().any(|(_, part)| large(part));
            if let Some(limit) = limits.context
                && *purpose == Purpose::Answer
                && !matches!(run.last, Some(Input::Model(ars_agent::ModelTurn { stop: StopReason::PauseTurn, .. })))
                && estimate_turns(turns) > limit.tokens() && droppable
            {
                failed = Some(turns.to_vec());
            }
        });
        prop_assert_eq!(failed, None);
    }

    /// After a stop at most the step under way runs tools; after the stop took effect no step does.
    #[test]
    fn a_stopped_run_never_calls_a_tool_again(limits in limits(), worlds in vec(world(), 1..40)) {
        let mut run = Run::begin(limits);
        let (mut tools_after_stop, mut tools_after_note) = (0, 0);
        let mut is_noted = false;
        play(&mut run, &worlds, |run, _| {
            is_noted |= run.actions.iter().any(|action| matches!(
                action, Action::Publish(EventBody::RunNote { mode: Some(_), .. })
            ));
            if let Some(Action::RunTools(_)) = run.actions.last() {
                tools_after_stop += u32::from(run.is_stopping);
                tools_after_note += u32::from(is_noted);
            }
        });
        // Two lists: the tools that ran when the stop came, and none; or the tools of the answer
        // then awaited, and none.
        prop_assert!(tools_after_stop <= 1, "{tools_after_stop}");
        prop_assert_eq!(tools_after_note, 0);
    }

    /// Every message is handed over once, or named as unread at the end.
    #[test]
    fn every_message_is_delivered_once_or_reported(limits in limits(), worlds in vec(world(), 1..40)) {
        let mut run = Run::begin(limits);
        play(&mut run, &worlds, |run, world| if world.resumes && run.can_move_on() { run.move_on() });
        prop_assert!(run.is_over());
        prop_assert!(run.delivered.values().all(|count| *count == 1), "{:?}", run.delivered);
        let unread: Vec<_> = run.agent.unconsumed().iter().filter_map(|message| message.seq).collect();
        let first_unread = run.agent.inbox_consumed_seq() + 1;
        prop_assert_eq!(unread, (first_unread..=run.sent).collect::<Vec<_>>());
        prop_assert_eq!(run.delivered.len() as u64, run.agent.inbox_consumed_seq());
    }

    /// A run that moves to another process at every tool call or step boundary behaves unchanged.
    #[test]
    fn resumed_run_behaves_as_the_original(limits in limits(), worlds in vec(world(), 1..40)) {
        let (mut stays, mut moves) = (Run::begin(limits), Run::begin(limits));
        for world in worlds.iter().cycle().take(400) {
            prop_assert_eq!(&stays.actions, &moves.actions);
            prop_assert_eq!(flat(stays.agent.turns()), flat(moves.agent.turns()));
            if stays.is_over() {
                break;
            }
            match stays.actions.last() {
                Some(Action::RunTools(_)) if world.resumes => moves.move_on(),
                _ => {}
            }
            stays.turn(world);
            moves.turn(world);
        }
        prop_assert!(stays.is_over());
    }

    /// A run killed while it waits for the model asks for the same when it goes on.
    #[test]
    fn run_killed_in_a_model_call_repeats_it(limits in limits(), worlds in vec(world(), 1..40)) {
        let mut run = Run::begin(limits);
        let mut failed = None;
        play(&mut run, &worlds, |run, _| {
            let Some(Action::CallModel { purpose, .. }) = run.actions.last() else { return };
            let ends_on_user = |turns: &[Turn]| turns.last().is_some_and(|turn| turn.role == Role::User);
            if !ends_on_user(run.agent.turns()) || run.is_stopping { return }
            let mut stored = run.stored.clone();
            stored.extend_from_slice(run.agent.turns_since(stored.len() as u64));
            let saved = run.agent.saved();
            let before = run.agent.position(run.now);
            let mut resumed = Loop::resume(saved, before, stored, run.now);
            let actions = resumed.step(Input::Start, run.now);
            let same = matches!(actions.last(), Some(Action::CallModel { purpose: again, .. }) if again == purpose);
            // A summary that was not to be had is asked for once more, and a step that was only just affordable is not
            // once the words added before it count.
            let is_broke = limits.cap.is_some() && notes(&actions).first() == Some(&NoteKind::MoneyBudgetExhausted);
            if !same && !run.lacks_summary && !is_broke {
                failed = Some((run.actions.clone(), actions));
            }
        });
        prop_assert_eq!(failed, None);
    }
}
