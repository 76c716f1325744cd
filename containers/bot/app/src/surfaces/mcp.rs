//! `/mcp`: requests and commands as tools. Its tokens are those of the ingress.

use ars_bot_http::{Routes, mcp};

use super::{Connected, Sources, Surface};
use crate::error::ConfigError;

/// MCP. It has no settings.
pub struct Mcp;

impl Mcp {
    /// Returns the surface.
    pub fn read(_sources: Sources<'_>) -> Result<Box<dyn Surface>, ConfigError> {
        Ok(Box::new(Self))
    }
}

impl Surface for Mcp {
    fn routes(&self, _connected: &Connected) -> Routes {
        mcp::routes()
    }
}
