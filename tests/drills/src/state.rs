//! The stores as the state Worker shows them to anybody with its bearer.

use ars_tests_workerd::Client;
use serde_json::{Value, json};

/// Store for the bot's runs.
const STORE: &str = "runs:default";
/// The shortest lease that the ledger accepts.
const SHORTEST_LEASE_MS: u64 = 1_000;

/// Asks the state Worker.
pub struct State {
    client: Client,
    bearer: &'static str,
}

impl State {
    /// Makes a reader for the Worker behind this client, which takes this bearer.
    pub fn new(client: &Client, bearer: &'static str) -> Self {
        Self {
            client: client.clone(),
            bearer,
        }
    }

    /// Asks a route of the run store.
    pub fn ask(&self, route: &str, mut body: Value) -> Value {
        body["storeKey"] = json!(STORE);
        let answer = self.client.post(route, self.bearer, &body);
        assert_eq!(answer.status, 200, "{route}: {:?}", answer.body);
        answer.body
    }

    /// Live runs, as rows.
    pub fn live(&self) -> Vec<Value> {
        self.ask("/runs/live", json!({}))["runs"]
            .as_array()
            .unwrap()
            .clone()
    }

    /// Records, whole, newest first.
    pub fn records(&self) -> Vec<Value> {
        let page = self.ask("/runs/list", json!({}));
        let ids = page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["id"].clone());
        ids.map(|id| self.ask("/runs/get", json!({ "id": id }))["record"].clone())
            .collect()
    }

    /// Returns the texts in a memory scope.
    pub fn remembered(&self, scope: &str) -> Vec<String> {
        let answer = self.client.post(
            "/list",
            self.bearer,
            &json!({ "scopeKey": scope, "limit": 50 }),
        );
        assert_eq!(answer.status, 200, "{:?}", answer.body);
        let records = answer.body["records"].as_array().unwrap();
        records
            .iter()
            .map(|record| record["text"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Shortens live runs' leases by their dead owner's own write, so that no drill waits for them.
    pub fn shorten_leases(&self) {
        for run in self.live() {
            let body = json!({ "runId": run["runId"], "gen": run["ownerGen"], "leaseMs": SHORTEST_LEASE_MS });
            self.ask("/runs/heartbeat", body);
        }
    }
}
