//! The limits of a run by the current configuration, beside which its page shows what the run has used.

use ars_agent::money::Price;
use ars_bot_tools::agents;
use ars_types::ModelRef;

use super::{Queries, RunView};

/// The limits of a run. Absent ones are unknown or unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunLimits {
    /// Model turns.
    pub turns: Option<u32>,
    /// Cost in millionths of a dollar.
    pub cost: Option<u64>,
    /// Tokens that the model's window holds.
    pub window: Option<u64>,
    /// The price of the model.
    pub price: Option<Price>,
}

impl Queries {
    /// Returns the limits that a run of this agent and model has now.
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
            price: model.and_then(|model| settings.prices.of(&model)),
        }
    }
}
