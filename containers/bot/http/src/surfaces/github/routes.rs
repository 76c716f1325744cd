//! The route of webhooks, for the code host, which signs the events.

use std::sync::Arc;

use super::{Webhooks, post::post, settings::WebhookState};
use crate::route::{Route, Routes};

/// Returns the routes. Without `webhooks` the route answers that they are off.
pub fn routes(webhooks: Option<Webhooks>) -> Routes {
    let webhooks = webhooks.map(|webhooks| Arc::new(WebhookState::new(webhooks)));
    Routes::new(vec![Route::all(ars_wire::ingress::GITHUB_ROUTE, post)]).with_extension(&webhooks)
}
