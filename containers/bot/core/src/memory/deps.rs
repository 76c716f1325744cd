//! What runs do with the configured memory.

use std::sync::Arc;

use ars_bot_ports::{ModelClient, Models};
use ars_events::Redactor;
use ars_types::ModelRef;

use super::{Recaller, Reflector};
use crate::context::{MemoryDeps, settings::Settings};

impl MemoryDeps {
    /// Returns the reader for a run.
    pub fn recaller(&self) -> Recaller {
        Recaller {
            store: Arc::clone(&self.store),
            budget: self.budget,
        }
    }

    /// Returns the reflector for a run on this model. `None` when the model's provider is not
    /// configured, or money is capped and the model's price unknown.
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
                    tracing::warn!(model = %model, error = %error, "no reflection: its model is unavailable");
                    return None;
                }
            },
            _ => (own.0, Arc::clone(own.1)),
        };
        let price = settings.prices.price(model);
        let is_capped = settings.money.run.is_some() || settings.money.day.is_some();
        if is_capped && price.is_none() {
            tracing::warn!(model = %model, "no reflection: money is capped, and its model has no price");
            return None;
        }
        Some(Reflector {
            store: Arc::clone(&self.store),
            model: model.clone(),
            client,
            price,
            redactor,
        })
    }
}
