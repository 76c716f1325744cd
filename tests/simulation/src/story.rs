//! What a scenario is about: its requests, and the installation they are made to.
//!
//! Not here: what the scripted model does about them (`script`), and what goes wrong meanwhile (`fault`).

use std::{sync::Arc, time::Duration};

use ars_agent::{Usage, money::Price};
use ars_bot_core::{
    memory::MemoryDeps,
    settings::{MoneyCaps, Settings},
};
use ars_bot_ports::{Memory, Repository};
use ars_types::ModelRef;

use crate::script;

/// The organization whose memory all runs share.
const ORGANIZATION: &str = "acme";
/// The store of its memory.
pub(crate) const MEMORY: &str = "org:acme";

/// A scenario without its faults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Story {
    /// One run of twelve model calls in which everything is done that a tool can do.
    #[default]
    Canonical,
    /// Runs that outgrow their window, their model's patience and their money: the first ends by the run's cap, the
    /// second goes beyond what is left of the day's, the third may not begin. The second is told what the first found.
    Bounded,
    /// A review that changes its mind.
    Reviewed,
    /// Runs of two processes that share a day: each is begun while those before it are under way, in the other process
    /// each time. Two may cost their whole cap, the third gets what is left, and the fourth what the third leaves.
    Shared,
}

/// One request of a story.
pub(crate) struct Request {
    /// The message's id, which is in its text.
    pub(crate) id: &'static str,
    pub(crate) thread: &'static str,
    pub(crate) directives: &'static str,
    /// What the model has to be shown at every call.
    pub(crate) text: &'static str,
}

impl Story {
    /// The requests, each made when all is quiet after the one before.
    pub(crate) const fn requests(self) -> &'static [Request] {
        match self {
            Self::Canonical => {
                &[Request { id: "m0", thread: "default", directives: "", text: "canonical m0" }]
            }
            Self::Bounded => &[
                Request {
                    id: "m0",
                    thread: "default",
                    directives: "",
                    text: "bounded m0: read the ledger, to the last line",
                },
                Request {
                    id: "m1",
                    thread: "second",
                    directives: "",
                    text: "bounded m1: read the ledger, to the last line",
                },
                Request {
                    id: "m2",
                    thread: "third",
                    directives: "",
                    text: "bounded m2: read the ledger, to the last line",
                },
            ],
            Self::Reviewed => &[Request {
                id: "m0",
                thread: "default",
                directives: "agent:review ",
                text: "reviewed m0: mind the locks",
            }],
            Self::Shared => &[
                Request { id: "m4", thread: "first", directives: "", text: "bounded m4: read the ledger" },
                Request { id: "m5", thread: "second", directives: "", text: "bounded m5: read the ledger" },
                Request { id: "m6", thread: "third", directives: "", text: "bounded m6: read the ledger" },
                Request { id: "m7", thread: "fourth", directives: "", text: "bounded m7: read the ledger" },
            ],
        }
    }

    /// Calls of ports when nothing goes wrong, about: where random faults strike, and some that a fault adds.
    pub(crate) const fn calls(self) -> u64 {
        match self {
            Self::Canonical => 110,
            Self::Bounded => 200,
            Self::Reviewed => 60,
            Self::Shared => 300,
        }
    }

    /// How long after the one before a request is made; where nothing is said, when all is quiet after it.
    pub(crate) const fn pace(self) -> Option<Duration> {
        match self {
            Self::Shared => Some(BETWEEN_SHARED),
            Self::Canonical | Self::Bounded | Self::Reviewed => None,
        }
    }

    /// How the installation is configured.
    pub(crate) fn settings(self) -> Settings {
        let plain = Settings {
            default_agent: Some("coding".into()),
            default_model: ModelRef::parse("scripted/m").ok(),
            repositories: vec![repository()],
            default_repository: Some("acme/app".into()),
            ..Settings::default()
        };
        let day = match self {
            Self::Bounded => DAY_CAP,
            Self::Shared => SHARED_DAY_CAP,
            Self::Canonical | Self::Reviewed => return plain,
        };
        let mut settings = Settings {
            fallback_model: ModelRef::parse("scripted/second").ok(),
            money: MoneyCaps { run: Some(RUN_CAP), day: Some(day) },
            ..plain
        };
        for name in ["m", "second", "cheap"] {
            let model = ModelRef::parse(&format!("scripted/{name}")).unwrap();
            settings.windows.insert(model.to_string(), WINDOW);
            settings.prices.insert(&model, price(name));
        }
        settings
    }

    /// What the installation remembers by.
    pub(crate) fn memory(self, store: Arc<dyn Memory>) -> Option<MemoryDeps> {
        (self == Self::Bounded).then(|| MemoryDeps {
            store,
            organization: Some(ORGANIZATION.into()),
            budget: ars_memory::reading::Budget::default(),
            model: ModelRef::parse(&format!("scripted/{}", script::CHEAP)).ok(),
        })
    }

    /// What all runs of a day may cost, in micro-dollars.
    pub(crate) fn day_cap(self) -> Option<u64> {
        self.settings().money.day
    }

    /// What a call of a model costs, in micro-dollars.
    pub(crate) fn cost(self, model: &str, usage: Usage) -> u64 {
        if self.day_cap().is_some() { price(model).cost(usage) } else { 0 }
    }
}

/// What all runs work on.
pub(crate) fn repository() -> Repository {
    Repository { name: "acme/app".into(), origin: "/app".into() }
}

/// What one run may cost, in micro-dollars: enough for a summary and some steps after it.
const RUN_CAP: u64 = 130_000;
/// What is left for the second run pays some steps, and less than its dearest.
const DAY_CAP: u64 = 170_000;
/// Two runs' caps, and some of a third's.
const SHARED_DAY_CAP: u64 = 2 * RUN_CAP + 40_000;
/// Longer than it takes until a process knows what the other one has begun, and shorter than a run is under way.
const BETWEEN_SHARED: Duration = Duration::from_secs(8);
/// The conversation may take a quarter of it, as more output is allowed than it holds.
const WINDOW: u64 = 40_000;

/// Whole micro-dollars for a token; the second model takes twice as much as the first.
fn price(model: &str) -> Price {
    let million = match model {
        "m" => 1_000_000,
        "second" => 2_000_000,
        _ => 100_000,
    };
    Price { input: million, output: 5 * million, cache_read: million, cache_write: million }
}
