//! Our clients' requests, checked against the official clients' request types.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: what fails here fails the test"
)]

use std::collections::BTreeMap;

use ars_agent::{Part, Role, ToolContent, ToolSpec, Turn};
use ars_auth::Secret;
use ars_bot_adapters::models::{Catalog, ProviderConfig, ProviderKind, Transport};
use ars_bot_ports::{ModelRequest, Models as _};
use ars_testkit::{Block, FakeAnthropic, FakeOpenAi, Reply};
use ars_tests_models::{Client, known_to};
use ars_types::{Effort, ModelRef};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Plays a conversation with every part kind and a tool call.
async fn talk(kind: ProviderKind, url: String) {
    let config = ProviderConfig {
        kind,
        api_key: Secret::parse(Some("key".into())),
        base_url: Some(url),
        script: None,
    };
    let catalog = Catalog::new(
        BTreeMap::from([("fake".to_owned(), config)]),
        Transport::default(),
    )
    .unwrap();
    let client = catalog
        .client(&ModelRef::parse("fake/model").unwrap())
        .unwrap();
    let image = |data: &str| ("image/png".to_owned(), data.to_owned());
    let (media_type, data) = image("iVBORw0KGgo=");
    let pdf = Part::Document {
        media_type: "application/pdf".into(),
        data: "JVBERi0=".into(),
        name: Some("a".into()),
    };
    let mut turns = vec![Turn {
        role: Role::User,
        parts: vec![Part::text("fix it"), Part::Image { media_type, data }, pdf],
    }];
    let tools = [ToolSpec {
        name: "bash".into(),
        description: "Runs a command.".into(),
        input_schema: json!({"type": "object", "properties": {"command": {"type": "string"}}}),
    }];
    for may_call_tools in [true, false] {
        let request = ModelRequest {
            model: "model",
            system: "Be brief.",
            tools: &tools,
            may_call_tools,
            turns: &turns,
            max_tokens: 64,
            effort: Some(Effort::High),
        };
        let turn = client
            .turn(request, &|_| {}, &CancellationToken::new())
            .await
            .unwrap();
        let (media_type, data) = image("iVBORw0KGgo=");
        let content = vec![
            ToolContent::Text { text: "ok".into() },
            ToolContent::Image { media_type, data },
        ];
        let results = turn.parts.iter().filter_map(|part| match part {
            Part::ToolCall { call_id, .. } => Some(Part::ToolResult {
                call_id: call_id.clone(),
                ok: false,
                content: content.clone(),
            }),
            _ => None,
        });
        let results = results.collect();
        turns.push(Turn {
            role: Role::Assistant,
            parts: turn.parts.clone(),
        });
        turns.push(Turn {
            role: Role::User,
            parts: results,
        });
    }
}

fn answers() -> [Reply; 2] {
    let thinking = Block::Thinking {
        text: "hm".into(),
        signature: "s".into(),
    };
    let call = Block::Tool {
        name: "bash".into(),
        input: json!({"command": "true"}),
    };
    [
        Reply::blocks(vec![thinking, Block::Text("Looking.".into()), call]),
        Reply::text("done"),
    ]
}

/// Checks that the official types, which ignore unknown fields, return the same body.
async fn assert_official(client: Client, body: &Value) {
    let known = known_to(client, body).await;
    assert_eq!(sorted(&known), sorted(body));
}

/// Sorts fields, because their order does not matter.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(fields) => {
            let fields: BTreeMap<_, _> = fields
                .iter()
                .map(|(name, value)| (name.clone(), sorted(value)))
                .collect();
            fields.into_iter().collect()
        }
        other => other.clone(),
    }
}

#[tokio::test]
async fn anthropic_requests_match_the_official_types() {
    let fake = FakeAnthropic::start().await;
    fake.push(answers());
    talk(ProviderKind::Anthropic, fake.url()).await;
    for request in fake.requests() {
        assert_official(Client::Anthropic, &request.body).await;
    }
}

#[tokio::test]
async fn openai_requests_match_the_official_types() {
    let fake = FakeOpenAi::start().await;
    fake.push(answers());
    talk(ProviderKind::OpenAiCompatible, fake.url()).await;
    for request in fake.requests() {
        assert_official(Client::OpenAi, &request.body).await;
    }
}
