//! Stories: a scenario's requests, and the installation's configuration.
//!
//! Not here: the model's answers (`script`), and faults (`fault`).

use std::{sync::Arc, time::Duration};

use ars_agent::{Usage, money::Price};
use ars_bot_core::{
    load_limits::LoadLimits,
    memory::MemoryDeps,
    settings::{MoneyCaps, Settings},
};
use ars_bot_ports::{Memory, Repository};
use ars_types::ModelRef;

use crate::script;

/// Organization that all runs belong to.
const ORGANIZATION: &str = "acme";
/// Store for the organization's memory.
pub(crate) const MEMORY: &str = "org:acme";

/// A scenario without faults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Story {
    /// A run with twelve model calls that uses every tool capability.
    #[default]
    Canonical,
    /// Runs that exceed their context window, their model's retries and their money.
    /// The first reaches the run's cap, the second the rest of the day's cap, and the third is rejected. The second
    /// recalls the first's findings.
    Bounded,
    /// A review that changes its mind.
    Reviewed,
    /// Runs in two processes that share a day's cap. Each starts while the earlier runs are live in
    /// the other process. Two get their whole cap, the third gets the rest, and the fourth the
    /// remainder of the third.
    Shared,
}

/// A request in a story.
pub(crate) struct Request {
    /// The message's id, which the text contains.
    pub(crate) id: &'static str,
    pub(crate) thread: &'static str,
    pub(crate) directives: &'static str,
    /// Text that must be in every model call's context.
    pub(crate) text: &'static str,
}

const fn request(id: &'static str, thread: &'static str, text: &'static str) -> Request {
    Request {
        id,
        thread,
        directives: "",
        text,
    }
}

const CANONICAL: &[Request] = &[request("m0", "default", "canonical m0")];
const BOUNDED: &[Request] = &[
    request(
        "m0",
        "default",
        "bounded m0: read the ledger, to the last line",
    ),
    request(
        "m1",
        "second",
        "bounded m1: read the ledger, to the last line",
    ),
    request(
        "m2",
        "third",
        "bounded m2: read the ledger, to the last line",
    ),
];
const REVIEWED: &[Request] = &[Request {
    directives: "agent:review ",
    ..request("m0", "default", "reviewed m0: mind the locks")
}];
const SHARED: &[Request] = &[
    request("m4", "first", "bounded m4: read the ledger"),
    request("m5", "second", "bounded m5: read the ledger"),
    request("m6", "third", "bounded m6: read the ledger"),
    request("m7", "fourth", "bounded m7: read the ledger"),
];

impl Story {
    /// Returns the requests, each sent when all processes are idle after the previous request.
    pub(crate) const fn requests(self) -> &'static [Request] {
        match self {
            Self::Canonical => CANONICAL,
            Self::Bounded => BOUNDED,
            Self::Reviewed => REVIEWED,
            Self::Shared => SHARED,
        }
    }

    /// Returns approximately how many port calls there are without faults, plus some margin. Random
    /// faults are below it.
    pub(crate) const fn calls(self) -> u64 {
        match self {
            Self::Canonical => 110,
            Self::Bounded => 200,
            Self::Reviewed => 60,
            Self::Shared => 300,
        }
    }

    /// Returns the delay between requests. `None` waits for idle processes.
    pub(crate) const fn pace(self) -> Option<Duration> {
        match self {
            Self::Shared => Some(BETWEEN_SHARED),
            Self::Canonical | Self::Bounded | Self::Reviewed => None,
        }
    }

    /// Returns the installation's configuration.
    pub(crate) fn settings(self) -> Settings {
        let plain = Settings {
            default_agent: Some("coding".into()),
            default_model: ModelRef::parse("scripted/m").ok(),
            repositories: vec![repository()],
            default_repository: Some("acme/app".into()),
            // Many runs by the same caller are played at once.
            load: LoadLimits::NONE,
            ..Settings::default()
        };
        let day = match self {
            Self::Bounded => DAY_CAP,
            Self::Shared => SHARED_DAY_CAP,
            Self::Canonical | Self::Reviewed => return plain,
        };
        let mut settings = Settings {
            fallback_model: ModelRef::parse("scripted/second").ok(),
            money: MoneyCaps {
                run: Some(RUN_CAP),
                day: Some(day),
            },
            ..plain
        };
        for name in ["m", "second", "cheap"] {
            let model = ModelRef::parse(&format!("scripted/{name}")).unwrap();
            settings.windows.insert(model.to_string(), WINDOW);
            settings.prices.insert(&model, price(name));
        }
        settings
    }

    /// Returns the memory configuration.
    pub(crate) fn memory(self, store: Arc<dyn Memory>) -> Option<MemoryDeps> {
        (self == Self::Bounded).then(|| MemoryDeps {
            store,
            organization: Some(ORGANIZATION.into()),
            budget: ars_memory::reading::Budget::default(),
            model: ModelRef::parse(&format!("scripted/{}", script::CHEAP)).ok(),
        })
    }

    /// Returns the day's cap in micro-dollars.
    pub(crate) fn day_cap(self) -> Option<u64> {
        self.settings().money.day
    }

    /// Returns a model call's cost in micro-dollars.
    pub(crate) fn cost(self, model: &str, usage: Usage) -> u64 {
        if self.day_cap().is_some() {
            price(model).cost(usage)
        } else {
            0
        }
    }
}

/// Returns the repository that all runs use.
pub(crate) fn repository() -> Repository {
    Repository {
        name: "acme/app".into(),
        origin: "/app".into(),
    }
}

/// A run's cap in micro-dollars: enough for a summary and some steps after it.
const RUN_CAP: u64 = 130_000;
/// The day's cap: the rest for the second run pays some steps, but not its most expensive step.
const DAY_CAP: u64 = 170_000;
/// The shared day's cap: two runs' caps, and part of a third.
const SHARED_DAY_CAP: u64 = 2 * RUN_CAP + 40_000;
/// A delay longer than a process needs to learn about the other's run, and shorter than a run.
const BETWEEN_SHARED: Duration = Duration::from_secs(8);
/// Context window in tokens. The conversation may use a quarter, because the output limit exceeds
/// the window.
const WINDOW: u64 = 40_000;

/// Returns whole micro-dollars per token. The second model costs twice as much as the first.
fn price(model: &str) -> Price {
    let million = match model {
        "m" => 1_000_000,
        "second" => 2_000_000,
        _ => 100_000,
    };
    Price {
        input: million,
        output: 5 * million,
        cache_read: million,
        cache_write: million,
    }
}
