//! Choosing the reflecting model.

use std::sync::Arc;

use ars_agent::money::{Price, PriceTable};
use ars_bot_core::{
    memory::{Budget, MemoryDeps, Reflector},
    settings::{MoneyCaps, Settings},
};
use ars_bot_ports::{ModelClient, Models, UnknownProvider};
use ars_types::ModelRef;

use super::support::*;

/// Knows the provider `small` only.
struct Small(Arc<OneAnswer>);

impl Models for Small {
    fn client(&self, model: &ModelRef) -> Result<Arc<dyn ModelClient>, UnknownProvider> {
        let client: Arc<dyn ModelClient> = Arc::<OneAnswer>::clone(&self.0);
        (model.provider() == "small")
            .then_some(client)
            .ok_or_else(|| UnknownProvider {
                known: "small".into(),
            })
    }
}

/// Returns the reflector for a run on `own/large` with this configuration.
fn reflector(configured: Option<&str>, settings: &Settings) -> Option<Reflector> {
    let model = |name: &str| ModelRef::parse(name).unwrap();
    let deps = MemoryDeps {
        store: Arc::new(Stores::default()),
        organization: None,
        budget: Budget::default(),
        model: configured.map(model),
    };
    let own: Arc<dyn ModelClient> = OneAnswer::of(Answer::Silence);
    let models = Small(OneAnswer::of(Answer::Silence));
    deps.reflector(
        (&model("own/large"), &own),
        &models,
        settings,
        Arc::new(redactor()),
    )
}

#[test]
fn configured_model_reflects_first() {
    let named =
        |configured| reflector(configured, &Settings::default()).map(|made| made.model.to_string());
    assert_eq!(named(Some("small/fast")).as_deref(), Some("small/fast"));
    assert_eq!(named(None).as_deref(), Some("own/large"));
    // The run's own client exists, whether or not the provider is still configured.
    assert_eq!(named(Some("own/large")).as_deref(), Some("own/large"));
    assert_eq!(named(Some("gone/fast")), None);
}

#[test]
fn capped_reflection_needs_a_price() {
    let price = Price {
        input: 1,
        output: 1,
        cache_read: 1,
        cache_write: 1,
    };
    let mut prices = PriceTable::default();
    prices.insert(&ModelRef::parse("small/fast").unwrap(), price);
    for money in [
        MoneyCaps {
            run: Some(1),
            day: None,
        },
        MoneyCaps {
            run: None,
            day: Some(1),
        },
    ] {
        let settings = Settings {
            money,
            prices: prices.clone(),
            ..Settings::default()
        };
        assert_eq!(
            reflector(Some("small/fast"), &settings).unwrap().price,
            Some(price)
        );
        assert!(reflector(None, &settings).is_none());
    }
}
