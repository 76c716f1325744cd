//! A run's limits by the current configuration, which the page shows beside the use.

use ars_agent::money::Price;
use ars_bot_tools::agents;
use ars_types::ModelRef;

use super::{Queries, RunView};

/// A run's limits. Absent limits are unknown or unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunLimits {
    /// Maximum number of model turns.
    pub turns: Option<u32>,
    /// Maximum cost in millionths of a dollar.
    pub cost: Option<u64>,
    /// Tokens that the model's window holds.
    pub window: Option<u64>,
    /// Price of the run's model.
    pub price: Option<Price>,
}

impl Queries {
    /// Returns the limits that a run with this agent and model has now.
    pub fn limits(&self, run: &RunView) -> RunLimits {
        let settings = self.context.settings();
        let agent = run.agent.as_deref().and_then(agents::find);
        let model = run
            .model
            .as_deref()
            .and_then(|name| ModelRef::parse(name).ok());
        let turns = agent.map(|agent| {
            settings
                .budgets
                .get(agent.name)
                .copied()
                .unwrap_or(agent.budget)
                .turns
        });
        let window = model.as_ref().map(|model| settings.window(model));
        RunLimits {
            turns,
            cost: settings.money.run,
            window,
            price: model.and_then(|model| settings.prices.price(&model)),
        }
    }
}
