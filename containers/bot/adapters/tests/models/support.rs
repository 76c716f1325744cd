//! Shared by both vendors' tests: a client for a fake, and calls to it.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: what fails here fails the test"
)]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use ars_agent::{ModelTurn, Part, Role, ToolContent, ToolSpec, Turn};
use ars_auth::Secret;
use ars_bot_adapters::models::{Catalog, ProviderConfig, ProviderKind, RetryPolicy, Transport};
use ars_bot_ports::{ModelClient, ModelDelta, ModelError, ModelErrorKind, ModelRequest, Models};
use ars_types::ModelRef;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// API key that every client here uses.
pub(crate) const KEY: &str = "sk-sesame";

/// Short waits, so that tests are fast.
pub(crate) fn transport() -> Transport {
    let retry = RetryPolicy {
        first_wait: Duration::from_millis(1),
        longest_wait: Duration::from_millis(5),
        ..RetryPolicy::default()
    };
    Transport {
        retry,
        ..Transport::default()
    }
}

/// Makes a client as the composition root does.
pub(crate) fn client(
    kind: ProviderKind,
    key: Option<&str>,
    url: &str,
    transport: Transport,
) -> Arc<dyn ModelClient> {
    let config = ProviderConfig {
        kind,
        api_key: Secret::parse(key.map(str::to_owned)),
        base_url: Some(url.to_owned()),
        script: None,
    };
    let catalog = Catalog::new(BTreeMap::from([("fake".to_owned(), config)]), transport).unwrap();
    catalog
        .client(&ModelRef::parse("fake/model").unwrap())
        .unwrap()
}

/// A conversation to call a model with.
pub(crate) struct Conversation {
    pub(crate) model: &'static str,
    pub(crate) turns: Vec<Turn>,
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) may_call_tools: bool,
    pub(crate) deltas: Mutex<Vec<ModelDelta>>,
}

impl Conversation {
    pub(crate) fn new(model: &'static str) -> Self {
        let bash = ToolSpec {
            name: "bash".into(),
            description: "Runs a command.".into(),
            input_schema: json!({"type": "object", "properties": {"command": {"type": "string"}}}),
        };
        Self {
            model,
            turns: vec![Turn::text(Role::User, "fix it")],
            tools: vec![bash],
            may_call_tools: true,
            deltas: Mutex::default(),
        }
    }

    pub(crate) async fn call_until(
        &self,
        client: &dyn ModelClient,
        cancel: &CancellationToken,
    ) -> Result<ModelTurn, ModelError> {
        let request = ModelRequest {
            model: self.model,
            system: "Be brief.",
            tools: &self.tools,
            may_call_tools: self.may_call_tools,
            turns: &self.turns,
            max_tokens: 64,
            effort: None,
        };
        client
            .turn(
                request,
                &|delta| self.deltas.lock().unwrap().push(delta),
                cancel,
            )
            .await
    }

    pub(crate) async fn call(&self, client: &dyn ModelClient) -> Result<ModelTurn, ModelError> {
        self.call_until(client, &CancellationToken::new()).await
    }

    /// Calls until `stop` completes, which cancels the call.
    pub(crate) async fn call_and_stop(
        &self,
        client: &dyn ModelClient,
        stop: impl Future<Output = ()>,
    ) {
        let cancel = CancellationToken::new();
        let stop = async {
            stop.await;
            cancel.cancel();
        };
        let (outcome, ()) = tokio::join!(self.call_until(client, &cancel), stop);
        assert_eq!(outcome.unwrap_err().kind, ModelErrorKind::Cancelled);
    }

    /// Adds the answer, and a result with `content` for each call in it.
    pub(crate) fn answer_calls(&mut self, turn: &ModelTurn, content: &[ToolContent]) {
        let results = turn.parts.iter().filter_map(|part| match part {
            Part::ToolCall { call_id, .. } => Some(Part::ToolResult {
                call_id: call_id.clone(),
                ok: true,
                content: content.to_vec(),
            }),
            _ => None,
        });
        let results: Vec<Part> = results.collect();
        self.turns.push(Turn {
            role: Role::Assistant,
            parts: turn.parts.clone(),
        });
        self.turns.push(Turn {
            role: Role::User,
            parts: results,
        });
    }

    /// The prose streamed so far.
    pub(crate) fn streamed(&self) -> String {
        let deltas = self.deltas.lock().unwrap();
        let texts = deltas.iter().filter_map(|delta| match delta {
            ModelDelta::Text(text) => Some(text.as_str()),
            ModelDelta::Retrying { .. } | ModelDelta::Usage(_) => None,
        });
        texts.collect()
    }

    /// The waits before further attempts.
    pub(crate) fn waits(&self) -> Vec<Duration> {
        let deltas = self.deltas.lock().unwrap();
        let waits = deltas.iter().filter_map(|delta| match delta {
            ModelDelta::Retrying { wait, .. } => Some(*wait),
            ModelDelta::Text(_) | ModelDelta::Usage(_) => None,
        });
        waits.collect()
    }
}

pub(crate) fn text_result(text: &str) -> [ToolContent; 1] {
    [ToolContent::Text {
        text: text.to_owned(),
    }]
}
