//! What an installation that remembers has.

use std::sync::Arc;

use ars_bot_ports::{Memory, ModelClient, Models};
use ars_events::Redactor;
use ars_memory::reading::Budget;
use ars_types::ModelRef;

use super::{Recaller, Reflector};
use crate::settings::Settings;

/// Memory, as it is configured. Where memory is off there is none of it.
pub struct MemoryDeps {
    /// Where it is kept.
    pub store: Arc<dyn Memory>,
    /// Whose it is, when everybody's is to be shared.
    pub organization: Option<String>,
    /// What a run is shown of it.
    pub budget: Budget,
    /// The model that reflects; the run's own when absent.
    pub model: Option<ModelRef>,
}

impl MemoryDeps {
    /// What reads for a run.
    pub fn recaller(&self) -> Recaller {
        Recaller { store: Arc::clone(&self.store), budget: self.budget }
    }

    /// What reflects on a run of this model; none when no model may be asked: its provider is not configured, or
    /// money is capped and what it takes is not known.
    pub fn reflector(
        &self,
        own: (&ModelRef, &Arc<dyn ModelClient>),
        models: &dyn Models,
        settings: &Settings,
        redactor: Arc<Redactor>,
    ) -> Option<Reflector> {
        let (model, client) = match &self.model {
            Some(model) if model != own.0 => match models.client(model) {
                Ok(client) => (model, client),
                Err(error) => {
                    tracing::warn!(model = %model, error = %error, "nothing remembered: its model cannot be asked");
                    return None;
                }
            },
            _ => (own.0, Arc::clone(own.1)),
        };
        let price = settings.prices.of(model);
        let is_capped = settings.money.run.is_some() || settings.money.day.is_some();
        if is_capped && price.is_none() {
            tracing::warn!(model = %model, "nothing remembered: money is capped, and its model has no price");
            return None;
        }
        Some(Reflector { store: Arc::clone(&self.store), model: model.clone(), client, price, redactor })
    }
}
