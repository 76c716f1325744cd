//! A run that is ready to be driven.

use std::sync::Arc;

use ars_agent::{
    Limits, ToolSpec,
    context::{ContextLimit, estimate_text},
};
use ars_bot_ports::Workspace;

use super::{assignment::Assignment, work::Work};

/// A run's assignment, with all that is known once its working tree is open.
pub struct PreparedRun {
    /// Agent, model, tools and limits.
    pub spec: Assignment,
    /// The thread's working tree.
    pub workspace: Option<Arc<dyn Workspace>>,
    /// System prompt for the model.
    pub system: String,
    /// What the run works on.
    pub work: Work,
}

impl PreparedRun {
    /// Returns a run that ends without a working tree and a prompt.
    pub fn without_tree(spec: Assignment) -> Self {
        Self {
            workspace: None,
            system: String::new(),
            work: spec.new_work(),
            spec,
        }
    }

    /// Returns the limits on the run's own model, including prompt and tools.
    pub fn full_limits(&self) -> Limits {
        self.with_fixed_tokens(self.spec.limits)
    }

    /// The limits on the fallback, including the prompt and tools.
    pub fn full_fallback_limits(&self) -> Limits {
        self.with_fixed_tokens(self.spec.fallback_limits)
    }

    fn with_fixed_tokens(&self, limits: Limits) -> Limits {
        let tools: u64 = self.spec.tools.specs().iter().map(tokens_of).sum();
        let fixed_tokens = estimate_text(&self.system) + tools;
        let context = limits.context.map(|limit| ContextLimit {
            fixed_tokens,
            ..limit
        });
        Limits { context, ..limits }
    }
}

fn tokens_of(spec: &ToolSpec) -> u64 {
    estimate_text(&spec.name)
        + estimate_text(&spec.description)
        + estimate_text(&spec.input_schema.to_string())
}

#[cfg(test)]
mod tests {
    use ars_agent::{ModelTurn, money::Price};
    use async_trait::async_trait;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::run::{BoundModel, Toolbox};
    use ars_bot_ports::{ModelClient, ModelDelta, ModelError, ModelRequest};
    use ars_bot_tools::agents;
    use ars_types::ModelRef;

    struct Silent;

    #[async_trait]
    impl ModelClient for Silent {
        async fn turn(
            &self,
            _: ModelRequest<'_>,
            _: &(dyn Fn(ModelDelta) + Send + Sync),
            _: &CancellationToken,
        ) -> Result<ModelTurn, ModelError> {
            unreachable!("nobody asks it")
        }
    }

    fn bound_model(name: &str) -> BoundModel {
        BoundModel {
            name: ModelRef::parse(name).unwrap(),
            client: Arc::new(Silent),
        }
    }

    fn limits(window: u64, price: u64) -> Limits {
        let price = Price {
            input: price,
            output: price,
            cache_read: price,
            cache_write: price,
        };
        Limits {
            context: Some(ContextLimit::new(window, 1_000)),
            price: Some(price),
            cap: None,
        }
    }

    #[test]
    fn each_model_has_its_own_window_and_price() {
        let agent = agents::find("general").unwrap();
        let system = "s".repeat(4_000);
        let spec = Assignment {
            agent,
            budget: agent.budget,
            limits: limits(200_000, 3),
            model: bound_model("a/first"),
            fallback: Some(bound_model("b/second")),
            fallback_limits: limits(50_000, 7),
            max_tokens: agent.max_output_tokens,
            effort: None,
            tools: Toolbox::new(agent.tools(None, None)),
            web: None,
            code_host: None,
            skills: None,
            hold: None,
        };
        let prepared = PreparedRun {
            workspace: None,
            system: system.clone(),
            work: Work::Answer,
            spec,
        };
        let tools: u64 = prepared.spec.tools.specs().iter().map(tokens_of).sum();
        assert!(tools > 0);
        for (full, own) in [
            (prepared.full_limits(), prepared.spec.limits),
            (
                prepared.full_fallback_limits(),
                prepared.spec.fallback_limits,
            ),
        ] {
            let fixed_tokens = estimate_text(&system) + tools;
            let context = own.context.map(|limit| ContextLimit {
                fixed_tokens,
                ..limit
            });
            assert_eq!(full, Limits { context, ..own });
        }
        let price = |name| {
            prepared
                .spec
                .price_of(&ModelRef::parse(name).unwrap())
                .map(|price| price.input)
        };
        assert_eq!((price("a/first"), price("b/second")), (Some(3), Some(7)));
    }
}
