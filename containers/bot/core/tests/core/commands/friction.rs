//! Reports on recurring friction, and analyzing saved streams.

use std::sync::{Arc, atomic::Ordering};

use ars_auth::Set;
use ars_bot_core::{
    Capabilities,
    commands::{Caller, CommandDeps, text_of},
    settings::Settings,
};
use ars_bot_ports::{SourceError, Sources};
use async_trait::async_trait;
use serde_json::{Value, json};

use super::support::{Desk, browser, desk, desk_with, granted, none};

fn slow(record: &mut Value) {
    record["diagnosis"]["findings"] = json!([{
        "category": "slow_tool", "severity": "high", "tool": "bash", "eventIndex": 1, "durationMs": 60_000,
        "summary": "bash took 60.0s: $ cargo test",
    }]);
}

fn seeded() -> Desk {
    let desk = desk();
    for (id, at) in [("r1", 1_000_000), ("r2", 1_000_010)] {
        desk.runs.seed(id, at, slow);
    }
    desk.runs.seed("quick", 1_000_020, |_| ());
    desk
}

fn reader() -> Caller {
    granted(&[], Set::All)
}

#[tokio::test]
async fn report_ranks_patterns() {
    let report = seeded().output(&reader(), "friction.report", none()).await;
    assert_eq!(
        (
            &report["runsAnalyzed"],
            report["patterns"].as_array().unwrap().len()
        ),
        (&json!(3), 1)
    );
    let pattern = &report["patterns"][0];
    assert_eq!(
        (&pattern["kind"], &pattern["runIds"]),
        (&json!("slow_tool"), &json!(["r1", "r2"]))
    );
    assert_eq!(
        (&pattern["severity"], &pattern["durationMs"]),
        (&json!("high"), &json!(120_000))
    );
    let example = &pattern["examples"][0];
    assert_eq!(
        (&example["runId"], &example["finishedAt"]),
        (&json!("r2"), &json!(1_000_010))
    );
    for text in [
        &pattern["key"],
        &pattern["signature"],
        &example["label"],
        &example["summary"],
    ] {
        assert!(
            text.as_str().unwrap().ends_with("</untrusted-text>"),
            "{text}"
        );
    }
    for empty in ["proposals", "filed", "duplicates", "failed"] {
        assert_eq!(report[empty], json!([]), "{empty}");
    }
    assert_eq!(
        (&report["dryRun"], report.get("truncatedRuns")),
        (&json!(false), None)
    );
}

#[tokio::test]
async fn options_narrow_the_report() {
    let desk = seeded();
    let report = async |body: Value| desk.output(&reader(), "friction.report", body).await;
    assert_eq!(report(json!({ "minRuns": 3 })).await["patterns"], json!([]));
    assert_eq!(report(json!({ "limit": 1 })).await["runsAnalyzed"], 1);
    assert_eq!(
        report(json!({ "sinceMs": 1_000_005 })).await["runsAnalyzed"],
        2
    );
    assert_eq!(report(json!({ "limit": 100_000 })).await["runsAnalyzed"], 3);
}

#[tokio::test]
async fn configured_minimum_applies_without_an_option() {
    let strict = |settings| Settings {
        report_min_runs: Some(3),
        ..settings
    };
    let desk = desk_with(Vec::new(), |capabilities| capabilities, strict);
    ["r1", "r2"]
        .into_iter()
        .zip(1_000_000..)
        .for_each(|(id, at)| desk.runs.seed(id, at, slow));
    assert_eq!(
        desk.output(&reader(), "friction.report", none()).await["patterns"],
        json!([])
    );
    let lenient = desk
        .output(&reader(), "friction.report", json!({ "minRuns": 2 }))
        .await;
    assert_eq!(lenient["patterns"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn report_has_only_readable_runs() {
    assert_eq!(
        seeded().output(&browser(), "friction.report", none()).await["runsAnalyzed"],
        0
    );
}

#[tokio::test]
async fn report_without_the_history_is_unavailable() {
    let desk = seeded();
    desk.runs.is_down.store(true, Ordering::SeqCst);
    assert_eq!(
        desk.failure(&reader(), "friction.report", none()).await.0,
        "unavailable"
    );
}

struct OneFile;

#[async_trait]
impl Sources for OneFile {
    async fn read(&self, source: &str) -> Result<Vec<u8>, SourceError> {
        match source {
            "run.jsonl" => Ok(b"{\"type\":\"input\",\"text\":\"hi\",\"seq\":1}\nnoise\n".to_vec()),
            "slow.jsonl" => {
                let call =
                    r#"{"type":"tool_call","tool":"bash","summary":"$ canary","seq":1,"at":0}"#;
                let result = r#"{"type":"tool_result","tool":"bash","ok":true,"summary":"ok","seq":2,"at":90000}"#;
                Ok(format!("{call}\n{result}\n").into_bytes())
            }
            "large" => Err(SourceError::TooLarge { max_bytes: 5 }),
            _ => Err(SourceError::Unreadable("no such file".into())),
        }
    }
}

#[tokio::test]
async fn analysis_reads_a_source() {
    let with_files = |capabilities: Capabilities| {
        let commands = CommandDeps {
            sources: Some(Arc::new(OneFile)),
            ..capabilities.commands
        };
        Capabilities {
            commands,
            ..capabilities
        }
    };
    let desk = desk_with(Vec::new(), with_files, |settings| settings);
    let run = async |source: &str| {
        desk.invoke(
            &Caller::cli(),
            "friction.analyze",
            json!({ "source": source }),
        )
        .await
    };
    let analysis: Value = serde_json::from_str(&run("run.jsonl").await.unwrap().json).unwrap();
    assert_eq!(
        (
            &analysis["source"],
            &analysis["events"],
            &analysis["skipped"]
        ),
        (&json!("run.jsonl"), &json!(1), &json!(1))
    );
    let slow = run("slow.jsonl").await.unwrap();
    let analysis: Value = serde_json::from_str(&slow.json).unwrap();
    let summary = analysis["diagnosis"]["findings"][0]["summary"]
        .as_str()
        .unwrap();
    assert!(
        summary.contains("canary") && summary.ends_with("</untrusted-text>"),
        "{summary}"
    );
    assert!(
        slow.text.contains("canary") && !slow.text.contains("untrusted"),
        "{}",
        slow.text
    );
    assert_eq!(
        text_of("friction.analyze", &slow.json, 0).as_ref(),
        Some(&slow.text)
    );
    assert_eq!(
        run("large").await.unwrap_err().code.as_str(),
        "invalid_input"
    );
    assert_eq!(run("none").await.unwrap_err().code.as_str(), "unavailable");
}
