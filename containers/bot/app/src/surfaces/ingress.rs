//! `/ingress`: requests over HTTP, for the holders of ingress tokens.

use ars_auth::{ParsedTokens, Secret, TokenMap};
use ars_bot_http::{Routes, ingress};
use async_trait::async_trait;

use super::{Connected, Sources, Surface};
use crate::{environment::name, error::ConfigError, finding::Finding};

/// How to fix missing or malformed tokens.
const MEND: &str = "set SERVICE_INGRESS_TOKENS to {\"<token>\":{\"subject\":\"me\"}}";

/// The ingress, with its tokens.
pub struct Ingress {
    tokens: TokenMap,
    finding: Finding,
}

impl Ingress {
    /// Reads the tokens.
    pub fn read(sources: Sources<'_>) -> Result<Box<dyn Surface>, ConfigError> {
        Ok(Box::new(Self {
            tokens: sources.tokens.map.clone(),
            finding: finding(sources.tokens),
        }))
    }
}

#[async_trait]
impl Surface for Ingress {
    fn secrets(&self) -> Vec<(&'static str, Secret)> {
        let secrets = self.tokens.secrets().cloned();
        secrets
            .map(|secret| (name::INGRESS_TOKENS, secret))
            .collect()
    }

    fn routes(&self, _connected: &Connected) -> Routes {
        ingress::routes()
    }

    async fn check(&self) -> Vec<Finding> {
        vec![self.finding.clone()]
    }
}

/// Returns what is wrong with the tokens.
fn finding(tokens: &ParsedTokens) -> Finding {
    const CHECK: &str = "ingress";
    match tokens.fault {
        Some(fault) => Finding::failure(CHECK, format!("SERVICE_INGRESS_TOKENS: {fault}"), MEND),
        None if !tokens.skipped.is_empty() => {
            let faults = tokens
                .skipped
                .iter()
                .map(|(place, fault)| format!("entry {place}: {fault}"));
            let faults = faults.collect::<Vec<_>>().join("; ");
            Finding::failure(CHECK, format!("SERVICE_INGRESS_TOKENS, {faults}"), MEND)
        }
        None if tokens.map.is_empty() => {
            Finding::warning(CHECK, "no tokens: `ars serve` accepts no requests", MEND)
        }
        None => Finding::ok(CHECK, "tokens are set"),
    }
}
