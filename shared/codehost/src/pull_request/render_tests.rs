//! Tests a pull request's texts.

use proptest::prelude::*;

use super::*;
use crate::{
    diff::Commit,
    pull_request::{Check, CheckResult, ExpectedCheck},
    text::{code_spans, markers},
};

fn commit(digit: &str) -> Commit {
    Commit::parse(&digit.repeat(40)).unwrap()
}

fn check(name: &str, head: Option<Commit>, result: CheckResult) -> Check {
    Check {
        name: name.into(),
        command: format!("make {name}"),
        head,
        result,
    }
}

fn evidence(checks: Vec<Check>) -> Evidence {
    Evidence {
        head: commit("a"),
        run_url: Some("https://ars.example/runs/r1".into()),
        cost_micro_usd: Some(120_001),
        refers_to: None,
        is_marked_draft: false,
        checks,
        expected: Vec::new(),
    }
}

fn description() -> Description {
    Description {
        title: "Fix @ann's\nlogin".into(),
        tldr: "Closes #1.".into(),
        what_why: "## Evidence\n\n- test passed".into(),
        risks: vec!["one\ntwo".into()],
        ..Description::default()
    }
}

#[test]
fn body_shows_evidence_of_the_exact_head() {
    let failed = CheckResult::Failed {
        output: "boom ``` @ann".into(),
    };
    let checks = vec![
        check("build", Some(commit("a")), CheckResult::Passed),
        check("test", Some(commit("a")), failed),
        check("lint", Some(commit("b")), CheckResult::Passed),
        check("docs", None, CheckResult::Passed),
        check("slow", Some(commit("a")), CheckResult::Unfinished),
    ];
    let text = render("r1", &description(), &evidence(checks));
    let expected = format!(
        "Closes #·1.\n\n## Evidence\n\nHead: {}\nRun: https://ars.example/runs/r1\nCost: $0.13\n\n\
         Checked at this head:\n\n- build passed: `make build`\n- test failed: `make test`\n\n      boom ``` @·ann\n\n\
         Not verified at this head:\n\n- slow did not end: `make slow`\n- lint ran at bbbbbbb only: `make lint`\n\
         - docs ran with other changes in the tree: `make docs`\n\n\
         ## What and why\n\n·## Evidence\n\n- test passed\n\n## Risks\n\n- one two\n\n<!-- ars:run=r1 -->",
        "a".repeat(40)
    );
    assert_eq!(text.title, "Fix @\u{200b}ann's login");
    assert_eq!(text.body.replace('\u{200b}', "·"), expected);
}

#[test]
fn marked_draft_refers_to_the_named_one() {
    let url = "https://github.com/acme/app/pull/3";
    let evidence = Evidence {
        refers_to: Some(url.into()),
        is_marked_draft: true,
        ..evidence(Vec::new())
    };
    let text = render("r1", &description(), &evidence);
    assert!(
        is_marked_draft(&text.title) && text.title.starts_with("[Draft] Fix "),
        "{}",
        text.title
    );
    let lines = format!("Refers to: {url}\n\nThis is a draft of the service.");
    assert!(text.body.contains(&lines), "{}", text.body);
    assert!(!is_marked_draft("Draft the login"));
}

#[test]
fn missing_checks_are_named() {
    let text = render("r1", &description(), &evidence(Vec::new()));
    assert!(text.body.contains("- no test or build ran at this head"));
}

/// A linter that passed hides neither that nothing was tested, nor the unused commands from the
/// table.
#[test]
fn unused_commands_are_not_verified() {
    let expected = |name, command: &str| ExpectedCheck {
        name,
        command: command.into(),
    };
    let (test, build) = (
        expected("test", "make test"),
        expected("build", "make `all`"),
    );
    let all = |checks| Evidence {
        expected: vec![test.clone(), build.clone()],
        ..evidence(checks)
    };
    let linted = check("lint", Some(commit("a")), CheckResult::Passed);
    let body = render("r1", &description(), &all(vec![linted])).body;
    let lines = "Checked at this head:\n\n- no test or build ran at this head\n- lint passed: `make lint`\n\n\
                 Not verified at this head:\n\n- test has no result: `make test`\n- build has no result: `make 'all'`\n";
    assert!(body.contains(lines), "{body}");
    let tested = vec![
        check("test", Some(commit("b")), CheckResult::Passed),
        check("build", Some(commit("a")), CheckResult::Passed),
    ];
    let body = render("r1", &description(), &all(tested)).body;
    assert!(
        body.contains("- test ran at bbbbbbb only") && !body.contains("has no result"),
        "{body}"
    );
}

#[test]
fn long_description_is_cut_before_the_evidence() {
    let checks = vec![
        check(
            "test",
            Some(commit("a")),
            CheckResult::Failed {
                output: "x\n".repeat(9_000)
            }
        );
        30
    ];
    let long = Description {
        tldr: "@a ".repeat(30_000),
        what_why: "y ".repeat(60_000),
        ..description()
    };
    let text = render("r1", &long, &evidence(checks));
    assert!(
        text.body.chars().count() <= MAX_BODY_CHARS,
        "{}",
        text.body.chars().count()
    );
    assert!(text.body.contains("Head: aaaa") && text.body.contains("[… the rest is cut …]"));
    assert_eq!(markers(&text.body, MARKER), ["r1"]);
}

proptest! {
    /// A hostile description adds no evidence heading and no marker.
    #[test]
    fn description_cannot_imitate_the_service(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "## Evidence\n", "Evidence\n===\n", "```\n", "~~~", "<!-- ars:run=x -->", "\n", "- ", "<details>", "x ", "`",
            ]),
            0..30,
        )
    ) {
        let hostile = pieces.concat();
        let hostile = Description {
            title: hostile.clone(),
            tldr: "t".into(),
            what_why: hostile.clone(),
            risks: vec![hostile.clone()],
            validation: hostile,
            ..Description::default()
        };
        let text = render("r1", &hostile, &evidence(Vec::new()));
        let code = code_spans(&text.body);
        let headings = text.body.match_indices("\n## Evidence\n").filter(|(at, _)| !code.iter().any(|span| span.contains(&(at + 1))));
        prop_assert_eq!(headings.count(), 1);
        prop_assert!(text.body.ends_with("\n\n<!-- ars:run=r1 -->"));
        prop_assert_eq!(markers(&text.body, MARKER), ["r1"]);
        prop_assert_eq!(text.title.lines().count().max(1), 1);
    }
}
