//! The official inspector, in each era.

use ars_tests_surfaces::{Ended, Service, Tool};
use serde_json::Value;

const TOKENS: &str = r#"{"good": {"subject": "ann", "scopes": ["dispatch", "runs:read"]}}"#;

async fn inspect(service: &Service, era: &str, arguments: &[&str]) -> Ended {
    let url = service.url("/mcp");
    let server = [
        "--server-url",
        &url,
        "--transport",
        "http",
        "--header",
        "Authorization: Bearer good",
    ];
    let form = ["--protocol-era", era, "--format", "json", "--quiet"];
    Tool::Inspector
        .run(&[&server[..], &form, arguments].concat())
        .await
}

fn read(ended: &Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    serde_json::from_str(&ended.stdout).unwrap()
}

#[tokio::test]
async fn schemas_are_portable() {
    let service = Service::start(TOKENS).await;
    for era in ["legacy", "modern"] {
        let listed = read(&inspect(&service, era, &["--method", "tools/list", "--strict"]).await);
        assert!(
            listed["result"]["tools"]
                .as_array()
                .is_some_and(|tools| tools.len() > 8),
            "{listed}"
        );
    }
}

#[tokio::test]
async fn tools_are_called_in_each_era() {
    let service = Service::start(TOKENS).await;
    for era in ["legacy", "modern"] {
        let call = |name: &'static str| ["--method", "tools/call", "--tool-name", name];
        let listed = read(&inspect(&service, era, &call("runs_list")).await);
        let text = listed["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("runs.list: ok\n"), "{text}");
        let arguments = [&call("dispatch")[..], &["--tool-arg", "text=what?"]].concat();
        let reply = read(&inspect(&service, era, &arguments).await);
        assert_eq!(
            reply["result"]["content"][0]["text"], "[rehearsal] forty-two",
            "{era}: {reply}"
        );
    }
}
