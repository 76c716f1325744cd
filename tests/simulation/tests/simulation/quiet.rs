//! Each story without faults, as the baseline for all other scenarios.

use ars_tests_simulation::{Ended, Evidence, Plan, Story, play, violations};

#[test]
fn canonical_run_makes_twelve_calls_and_one_reply() {
    let (ended, evidence) = play(&Plan::default());
    assert_eq!(violations(ended, &evidence), [], "{}", evidence.tail());
    assert_eq!(ended, Ended::Quiet);
    let count = |name: &str| evidence.calls.iter().filter(|call| call.2 == name).count();
    assert_eq!(count("model"), 12);
    let effects: Vec<_> = evidence
        .effects
        .iter()
        .map(|effect| effect.call.as_str())
        .collect();
    assert_eq!(
        effects,
        [
            "t1c0", "t2c0", "t5c1", "t6c0", "t6c1", "t7c1", "t8c0", "t9c0", "t10c0"
        ]
    );
    assert_eq!(evidence.delivered.len(), 1);
    assert_eq!(evidence.delivered[0].text, "Done. Heard: m0 f1");
    let run = evidence.runs.values().next().unwrap();
    assert_eq!(run.record.as_ref().unwrap()["status"], "completed");
    assert!(!run.acknowledged.is_empty());
}

fn quiet(story: Story) -> Evidence {
    let (ended, evidence) = play(&Plan::default().in_story(story));
    assert_eq!(violations(ended, &evidence), [], "{}", evidence.tail());
    assert_eq!(ended, Ended::Quiet);
    evidence
}

/// Returns the note kinds in a run's record.
fn notes(record: &serde_json::Value) -> Vec<&str> {
    let events = record["events"].as_array().unwrap().iter();
    events
        .filter(|event| event["type"] == "run_note")
        .map(|event| event["kind"].as_str().unwrap())
        .collect()
}

#[test]
fn bounded_runs_compact_switch_models_and_end() {
    let evidence = quiet(Story::Bounded);
    let delivered: Vec<_> = evidence
        .delivered
        .iter()
        .map(|delivered| (delivered.to.as_str(), delivered.text.as_str()))
        .collect();
    let [("m0", first), ("m1", second), ("m2", third)] = delivered[..] else {
        panic!("{delivered:#?}")
    };
    assert!(
        first.starts_with("⚠️ The money cap of $0.13 ended this run.")
            && first.ends_with("Heard: m0"),
        "{first}"
    );
    assert!(
        second.starts_with("⚠️ The money cap of ") && !second.contains("Heard"),
        "{second}"
    );
    assert!(
        third.starts_with("💸 Today's budget of $0.17 is used up."),
        "{third}"
    );

    let of = |message: &str| {
        let run = evidence
            .runs
            .values()
            .find(|run| run.request.as_deref() == Some(message))
            .unwrap();
        run.record.as_ref().unwrap()
    };
    let events = of("m0")["events"].as_array().unwrap();
    let is_summed_up = |event: &serde_json::Value| {
        event["kind"] == "compacted"
            && event["summary"]
                .as_str()
                .unwrap()
                .ends_with("replaced by a summary")
    };
    assert!(events.iter().any(is_summed_up) && notes(of("m0")).contains(&"money_budget_exhausted"));
    assert_eq!(notes(of("m1")).last(), Some(&"money_budget_exhausted"));
    let model_calls = |message: &'static str| {
        evidence
            .model_calls
            .iter()
            .filter(move |model_call| model_call.about.first().is_some_and(|id| id == message))
    };
    // Usage reported by a broken attempt, and the answer's cost, on both models.
    let cost = |message| {
        model_calls(message)
            .flat_map(|model_call| &model_call.reported)
            .map(|reported| reported.1)
            .sum::<u64>()
    };
    for message in ["m0", "m1"] {
        assert_eq!(of(message)["costMicroUsd"], cost(message), "{message}");
    }
    assert!(
        cost("m0") <= 130_000 && cost("m0") + cost("m1") > 170_000,
        "{} {}",
        cost("m0"),
        cost("m1")
    );
    let models: Vec<_> = model_calls("m0")
        .map(|model_call| model_call.model.as_str())
        .collect();
    let second = &models[models.iter().position(|model| *model == "second").unwrap()..];
    assert!(
        models[0] == "m" && second.len() > 1 && !second.contains(&"m"),
        "{models:?}"
    );

    let remembered = evidence.memory.last().unwrap()["text"].as_str().unwrap();
    assert!(
        model_calls("m1").all(|model_call| model_call.system.contains(remembered)),
        "{remembered}"
    );
    // The day's money does not suffice for a reflection on the second run.
    assert_eq!((evidence.memory.len(), evidence.learned.len()), (1, 1));
}

#[test]
fn processes_share_the_rest_of_the_day() {
    let evidence = quiet(Story::Shared);
    let of = |message: &str| {
        let run = evidence
            .runs
            .values()
            .find(|run| run.request.as_deref() == Some(message))
            .unwrap();
        (
            run.claimed.as_ref().unwrap().1.as_str(),
            run.hold.unwrap(),
            run,
        )
    };
    let [first, second, third, fourth] = ["m4", "m5", "m6", "m7"].map(of);
    assert_eq!((first.0, first.1), ("g1", 130_000));
    assert_eq!((second.0, second.1), ("g2", 130_000));
    assert_eq!((third.0, third.1), ("g1", 40_000));
    let unspent = 40_000
        - third.2.record.as_ref().unwrap()["costMicroUsd"]
            .as_u64()
            .unwrap();
    assert_eq!((fourth.0, fourth.1), ("g2", unspent));
    // The others were live by then.
    let is_later =
        |at: &Option<(u64, String)>| at.as_ref().unwrap().0 > fourth.2.claiming.unwrap().0;
    assert!(
        is_later(&first.2.finished) && is_later(&second.2.finished) && !is_later(&third.2.finished)
    );
}

#[test]
fn review_reports_its_last_verdict_and_one_diff() {
    let evidence = quiet(Story::Reviewed);
    let delivered: Vec<_> = evidence
        .delivered
        .iter()
        .map(|delivered| delivered.text.as_str())
        .collect();
    assert_eq!(
        delivered,
        ["Changes requested: a lock is held too long\n\nFindings. Heard: m0"]
    );
    let record = evidence
        .runs
        .values()
        .next()
        .unwrap()
        .record
        .as_ref()
        .unwrap();
    let count = |kind: &str| {
        record["events"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|event| event["type"] == kind)
            .count()
    };
    assert_eq!((count("review_artifact"), count("tool_result")), (1, 8));
}
