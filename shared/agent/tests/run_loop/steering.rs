//! Messages for a live run.

use ars_agent::{Action, Input, Part, Purpose, Role, Steered, StopReason};
use ars_events::{EventBody, NoteKind};
use ars_types::RunStatus;

use crate::support::{
    MINUTE, START, answer, asks, inputs, is_call, message, new_loop, notes, output, play, says,
    status, texts,
};

#[test]
fn message_follows_the_results_of_the_turn() {
    let mut run = new_loop(8);
    run.step(asks(&["bash"]), START);
    assert_eq!(
        run.step(Input::Steered(vec![message(1, "use tabs")]), START),
        [Action::Wait]
    );
    assert_eq!((run.inbox_consumed_seq(), run.unconsumed().len()), (0, 1));
    let actions = run.step(output(5), START);
    assert_eq!(
        (inputs(&actions), notes(&actions)),
        (vec!["use tabs"], vec![NoteKind::FollowUp])
    );
    assert!(is_call(&actions, Purpose::Answer));
    let parts = &run.turns()[2].parts;
    assert!(
        matches!(&parts[..], [Part::ToolResult { .. }, Part::Text { text, .. }] if text.ends_with("use tabs"))
    );
    assert_eq!((run.inbox_consumed_seq(), run.unconsumed().len()), (1, 0));
}

#[test]
fn several_messages_become_one_part() {
    let mut run = new_loop(8);
    run.step(asks(&["bash"]), START);
    let image = Part::Image {
        media_type: "image/png".into(),
        data: "A".into(),
    };
    let file = ars_events::AttachedFile {
        name: "a.png".into(),
        media_type: "image/png".into(),
        bytes: 1,
    };
    run.step(
        Input::Steered(vec![Steered {
            attachments: vec![image.clone()],
            files: vec![file],
            ..message(1, "look")
        }]),
        START,
    );
    let actions = play(
        &mut run,
        [Input::Steered(vec![message(2, "and here")]), output(5)],
    );
    assert_eq!(inputs(&actions), ["look (+1 attachment)", "and here"]);
    assert_eq!(notes(&actions), [NoteKind::FollowUp; 2]);
    let parts = &run.turns()[2].parts;
    assert_eq!(parts.len(), 3);
    assert!(matches!(&parts[1], Part::Text { text, .. } if text.ends_with("- look\n- and here")));
    assert_eq!(parts[2], image);
}

#[test]
fn overtaken_answer_is_rewritten() {
    let mut run = new_loop(8);
    play(
        &mut run,
        [
            Input::Start,
            Input::Steered(vec![message(7, "also the docs")]),
        ],
    );
    let actions = run.step(says("all done", StopReason::EndTurn), START);
    assert_eq!(
        actions[0],
        Action::Publish(EventBody::Assistant {
            text: "all done".into()
        })
    );
    assert_eq!(
        (inputs(&actions), notes(&actions)),
        (vec!["also the docs"], vec![NoteKind::FollowUp])
    );
    assert!(is_call(&actions, Purpose::Answer));
    let told = &run.turns()[2];
    assert_eq!((told.role, told.parts.len()), (Role::User, 1));
    assert!(texts(&run.turns()[2..]).contains("was not delivered"));
    assert!(texts(&run.turns()[2..]).contains("one complete answer"));
    assert_eq!(
        answer(&run.step(says("both done", StopReason::EndTurn), START)),
        "both done"
    );
    assert_eq!(run.inbox_consumed_seq(), 7);
}

#[test]
fn overtaken_empty_answer_leaves_no_turn() {
    let mut run = new_loop(8);
    play(
        &mut run,
        [Input::Start, Input::Steered(vec![message(1, "hello?")])],
    );
    let nothing = ars_agent::ModelTurn {
        parts: vec![],
        stop: StopReason::EndTurn,
        usage: ars_agent::Usage::default(),
    };
    let actions = run.step(Input::Model(nothing), START);
    assert!(matches!(
        actions[0],
        Action::Publish(EventBody::Input { .. })
    ));
    assert!(
        run.turns().iter().all(|turn| turn.role == Role::User),
        "{:?}",
        run.turns()
    );
}

#[test]
fn answer_is_final_when_no_step_is_left() {
    let overtaken = |run: &mut ars_agent::Loop, now| {
        run.step(Input::Steered(vec![message(3, "more")]), now);
        let actions = run.step(says("done", StopReason::EndTurn), now);
        assert_eq!(inputs(&actions), Vec::<&str>::new());
        assert!(answer(&actions).ends_with("done"), "{actions:?}");
        assert_eq!(
            (run.unconsumed(), run.inbox_consumed_seq()),
            (&[message(3, "more")][..], 0)
        );
        status(&actions)
    };
    assert_eq!(overtaken(&mut new_loop(1), START), RunStatus::Completed);
    assert_eq!(
        overtaken(&mut new_loop(8), START + 20 * MINUTE),
        RunStatus::Completed
    );
    let mut stopped = new_loop(8);
    stopped.step(Input::SoftStop, START);
    assert_eq!(overtaken(&mut stopped, START), RunStatus::StoppedSoft);
    let mut closing = new_loop(8);
    closing.step(Input::ModelTimedOut, START);
    assert_eq!(overtaken(&mut closing, START), RunStatus::Completed);
}

#[test]
fn messages_at_the_closing_boundary_stay_unread() {
    let mut run = new_loop(1);
    let actions = play(
        &mut run,
        [
            asks(&["bash"]),
            Input::Steered(vec![message(1, "more")]),
            output(5),
        ],
    );
    assert_eq!(notes(&actions), [NoteKind::TurnBudgetExhausted]);
    assert_eq!(run.unconsumed().len(), 1);
}

#[test]
fn message_after_the_end_is_unread() {
    let mut run = new_loop(8);
    run.step(Input::HardStop, START);
    assert_eq!(
        run.step(Input::Steered(vec![message(1, "late")]), START),
        [Action::Wait]
    );
    assert_eq!(run.unconsumed(), [message(1, "late")]);
}

#[test]
fn overtaking_messages_respect_the_turn_budget() {
    let mut run = new_loop(3);
    run.step(Input::Start, START);
    let overtaken = (1..=10).take_while(|seq| {
        run.step(Input::Steered(vec![message(*seq, "again")]), START);
        let actions = run.step(says("done", StopReason::EndTurn), START);
        is_call(&actions, Purpose::Answer)
    });
    assert_eq!((overtaken.count(), run.unconsumed().len()), (2, 1));
}
