//! Tests the shutdown in paused time: the deadline is a quarter of an hour.

use std::{collections::BTreeMap, sync::Arc};

use ars_auth::{Actor as Asker, Grants};
use ars_bot_adapters::{
    models::{Catalog, Transport},
    sandbox::SandboxSettings,
};
use ars_bot_core::{Capabilities, Deps, settings::Settings};
use ars_bot_ports::{Choices, IncomingMessage};
use ars_bot_testkit::RecordingChannel;
use ars_events::Redactor;
use ars_types::{Platform, ThreadKey, Visibility};
use async_trait::async_trait;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    clock::SystemClock,
    compose::workspaces,
    config::RunHistory,
    services::{Service, Supervisor},
    stores::{Place, Stores},
};

const MINUTE: Duration = Duration::from_secs(60);

/// A server with a connection that never ends.
struct Hanging;

#[async_trait]
impl Service for Hanging {
    fn name(&self) -> &'static str {
        "http"
    }

    async fn run(self, _stop: CancellationToken) {
        std::future::pending::<()>().await;
    }
}

fn core(data_dir: &std::path::Path) -> Core {
    let place = Place {
        wanted: None,
        state_url: None,
        token: None,
        data_dir,
        memory_cap: 10,
    };
    let store = Stores::open(&RunHistory::default(), &place)
        .ok()
        .unwrap()
        .runs;
    Core::new(Deps {
        clock: Arc::new(SystemClock),
        models: Arc::new(
            Catalog::new(BTreeMap::new(), Transport::default())
                .ok()
                .unwrap(),
        ),
        workspaces: Arc::new(workspaces(data_dir, SandboxSettings::default())),
        store,
        capabilities: Capabilities::default(),
        redactor: Arc::new(Redactor::new(Vec::new())),
        settings: Settings::default(),
    })
}

fn message() -> IncomingMessage {
    IncomingMessage {
        actor: Asker::new("http:ann", Grants::default()),
        channel_id: "http:default".into(),
        thread_key: ThreadKey::new(Platform::Http, "default", "default"),
        visibility: Visibility::Machine,
        text: "hello".into(),
        attachments: Vec::new(),
        received_at: 0,
        choices: Choices::default(),
        source: None,
        idempotency: None,
        is_confirmed: false,
    }
}

#[tokio::test(start_paused = true)]
async fn drain_and_server_share_one_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let (core, allowed) = (core(folder.path()), Arc::new(Notify::new()));
    let asked = tokio::spawn({
        let core = core.clone();
        let history_permit = Some(Arc::clone(&allowed));
        let io = Arc::new(RecordingChannel {
            history_permit,
            ..RecordingChannel::default()
        });
        async move { core.dispatch(message(), io).await }
    });
    while core.load().in_flight == 0 {
        tokio::task::yield_now().await;
    }
    let server = Supervisor::new().start(Hanging);
    let mut signals = Signals::listen().unwrap();
    let began = Instant::now();
    let drained_late = async {
        while !core.load().draining {
            tokio::task::yield_now().await;
        }
        tokio::time::advance(14 * MINUTE).await;
        allowed.notify_one();
    };
    let cause = ShutdownCause::Signal(StopSignal::Terminate);
    let ended = shut_down(&core, &mut signals, cause, &server);
    let (outcome, ()) = tokio::join!(ended, drained_late);
    assert_eq!(outcome, ShutdownOutcome::DeadlinePassed);
    let minutes = began.elapsed().as_secs_f64() / MINUTE.as_secs_f64();
    assert!((15.0..15.5).contains(&minutes), "{minutes} minutes");
    asked.await.unwrap();
}
