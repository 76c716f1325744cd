//! A bot process: the real core on simulated ports, with its own generation.

use std::sync::Arc;

use ars_auth::{Actor, Grants};
use ars_bot_adapters::stores::Client;
use ars_bot_core::{Capabilities, Core, Deps, LedgerDeps, live::LiveStores};
use ars_bot_ports::{Choices, Clock, IncomingMessage, Randomness};
use ars_events::Redactor;
use ars_types::{Generation, Platform, ThreadKey, Visibility};
use tokio_util::sync::CancellationToken;

use crate::{
    channel::{Reopened, ReplyChannel},
    lifetime::Lifetime,
    model::Scripted,
    viewer,
    wire::Wire,
    workspace::Trees,
    world::World,
};

/// A process that is running, or was.
pub(crate) struct Process {
    pub(crate) life: Arc<Lifetime>,
    pub(crate) core: Core,
    /// Whether it is shutting down.
    pub(crate) is_leaving: bool,
}

impl Process {
    /// Starts the process, which reclaims orphaned runs at once.
    pub(crate) fn start(world: &Arc<World>, number: usize) -> Self {
        let life = Lifetime::new(world, format!("g{number}"));
        let client = Arc::new(Client::over(Wire(Arc::clone(&life)), None).unwrap());
        let clock: Arc<dyn Clock> = Arc::<crate::clock::SimClock>::clone(&life.clock);
        let ledger = LedgerDeps {
            stores: LiveStores {
                ledger: client.clone(),
                transcripts: client.clone(),
            },
            generation: Generation::parse(&life.name).unwrap(),
            channels: Arc::new(Reopened(Arc::clone(&life))),
            has_successor: true,
            reclaims: true,
        };
        let memory = world.story.memory(client.clone());
        let drawn = Arc::clone(world);
        let randomness = Randomness::new(move |bytes| {
            drawn.random.lock().unwrap().fill(bytes);
            Ok(())
        });
        let deps = Deps {
            clock,
            models: Arc::new(Scripted(Arc::clone(&life))),
            workspaces: Arc::new(Trees(Arc::clone(&life))),
            store: client,
            capabilities: Capabilities {
                ledger: Some(ledger),
                memory,
                ..Capabilities::default()
            },
            redactor: Arc::new(Redactor::new(Vec::new())),
            settings: world.story.settings(),
        };
        let core = Core::drawing_from(randomness, deps);
        let keeper = core.clone();
        tokio::spawn(async move { keeper.keep_ledger(CancellationToken::new()).await });
        tokio::spawn(viewer::watch(Arc::clone(&life), core.registry().clone()));
        Self {
            life,
            core,
            is_leaving: false,
        }
    }

    /// Delivers a message in the thread.
    pub(crate) fn receive(&self, id: &str, text: &str) {
        self.receive_in("default", id, text);
    }

    /// Delivers a message in another thread.
    pub(crate) fn receive_in(&self, thread: &str, id: &str, text: &str) {
        let message = IncomingMessage {
            actor: Actor::new("http:ann", Grants::default()),
            channel_id: "http:default".into(),
            thread_key: ThreadKey::new(Platform::Http, "default", thread),
            visibility: Visibility::Machine,
            text: text.to_owned(),
            attachments: Vec::new(),
            received_at: self.life.clock.now(),
            choices: Choices::default(),
            source: None,
            idempotency: None,
            is_confirmed: false,
        };
        let core = self.core.clone();
        let way = ReplyChannel::new(Arc::clone(&self.life), id.to_owned(), None);
        tokio::spawn(async move { core.dispatch(message, Arc::new(way)).await });
    }
}
