//! The routes over the registry and several residents.

use std::cell::RefCell;
use std::collections::BTreeMap;

use ars_resident::lifecycle::StateWord;
use ars_resident::names::Resource;
use ars_resident::wire::{Build, Credential};
use ars_resident_engine::fleet::{Admitted, Fleet, Membership, Request, perform, prepare};
use ars_resident_engine::{Call, Fault, HostError, Registry, RegistryCall, RegistryReply, Reply};
use ars_sql_native::NativeSql;
use futures::executor::block_on;
use serde_json::{Value, json};

/// A registry with residents that answer from a script.
struct Script {
    registry: Registry<NativeSql>,
    calls: RefCell<Vec<(Resource, Call)>>,
    activities: BTreeMap<String, i64>,
    membership: Membership,
    is_down: bool,
}

impl Script {
    fn new() -> Self {
        let registry = Registry::open(NativeSql::in_memory().unwrap(), "build-1").unwrap();
        let (calls, activities) = (RefCell::default(), BTreeMap::new());
        Self { registry, calls, activities, membership: Membership::Proven, is_down: false }
    }

    fn send(&self, credential: Credential, method: &str, path: &str, body: &Value) -> Reply {
        let (body, resource) = (body.to_string(), Some("repo:acme/app0"));
        let admitted = match Admitted::of(path, method, credential) {
            Ok(admitted) => admitted,
            Err(reply) => return reply,
        };
        let request = Request { admitted, resource, body: &body };
        block_on(async {
            match prepare(self, request).await {
                Ok(work) => perform(self, work).await,
                Err(reply) => reply,
            }
        })
    }

    fn post(&self, path: &str, body: &Value) -> Reply {
        self.send(Credential::Admin, "POST", path, body)
    }

    fn onboard(&self, number: usize) -> Reply {
        self.post("/onboard", &onboarding(number))
    }
}

fn onboarding(number: usize) -> Value {
    let commands = json!({ "test": "true", "build": "make" });
    json!({ "resource": format!("repo:acme/app{number}"), "defaultRef": "main", "commands": commands })
}

impl Fleet for Script {
    fn now(&self) -> i64 {
        1_000_000_000
    }

    fn build(&self) -> Build {
        Build { commit: "build-1".to_owned(), built_at: None }
    }

    async fn registry(&self, call: RegistryCall) -> Result<RegistryReply, Fault> {
        self.registry.answer(call)
    }

    async fn resident(&self, resource: &Resource, call: Call) -> Result<Reply, Fault> {
        // Calls cross objects as JSON.
        let call: Call = serde_json::from_str(&serde_json::to_string(&call)?)?;
        self.calls.borrow_mut().push((resource.clone(), call.clone()));
        if self.is_down {
            return Err(HostError::Failed("the object does not answer".to_owned()).into());
        }
        let body = match call {
            Call::Activity => json!({
                "lastActivityAt": self.activities.get(resource.slug()).copied().unwrap_or(1_000_000_000),
                "state": StateWord::Warm, "inFlight": 0, "trees": "clean",
            }),
            Call::Offboard { record, .. } => json!({
                "resource": record.resource, "registryRemoved": true, "schedulesCancelled": 1,
                "containerStopped": true, "storageCleared": true, "backupObjectsDeleted": 2,
                "r2ObjectsDeleted": 0, "errors": [],
            }),
            _ => json!({ "state": "warm", "reason": null }),
        };
        Ok(Reply { status: 200, body })
    }

    async fn membership(&self, _: &Resource) -> Membership {
        self.membership.clone()
    }
}

#[test]
fn checks_have_a_fixed_order() {
    let fleet = Script::new();
    let status = |credential, method, path, body: &Value| fleet.send(credential, method, path, body).status;
    assert_eq!(status(Credential::None, "GET", "/healthz", &json!(null)), 200);
    assert_eq!(status(Credential::Operator, "POST", "/nope", &json!(null)), 401);
    assert_eq!(status(Credential::Admin, "POST", "/nope", &json!(null)), 404);
    assert_eq!(status(Credential::Operator, "GET", "/attach", &json!(null)), 405);
    let attach = json!({ "resource": "repo:acme/app0", "threadKey": "load:1" });
    assert_eq!(status(Credential::Operator, "POST", "/attach", &json!({ "resource": "x" })), 400);
    assert_eq!(status(Credential::Operator, "POST", "/attach", &attach), 404);
    assert_eq!(fleet.onboard(0).status, 202);
    assert_eq!(status(Credential::Operator, "POST", "/attach", &attach), 200);
    assert_eq!(status(Credential::Read, "POST", "/debug", &json!({ "op": "refresh-now" })), 403);
    assert_eq!(status(Credential::Operator, "GET", "/status", &json!(null)), 200);
    let op = |op| json!({ "resource": "repo:acme/app0", "op": op });
    assert_eq!(status(Credential::Operator, "POST", "/op", &op("deploy")), 400);
    let effects = json!({ "resource": "repo:acme/app0", "effects": { "test": "mutating" } });
    assert_eq!(fleet.post("/reconfigure", &effects).body["record"]["effects"]["test"], "mutating");
    let refused = fleet.send(Credential::Operator, "POST", "/op", &op("test"));
    assert_eq!(refused.status, 409);
    assert!(refused.body["error"].as_str().unwrap().starts_with("op-refused: "));
}

#[test]
fn onboarding_takes_a_place_only_after_the_proof() {
    let mut fleet = Script::new();
    fleet.membership = Membership::Absent("acme/app0".to_owned());
    assert_eq!(fleet.onboard(0).status, 403);
    fleet.membership = Membership::Unconfigured;
    let warned = fleet.onboard(0);
    assert!(warned.body["warning"].as_str().unwrap().starts_with("github-app-not-configured:"));
    assert_eq!(fleet.onboard(0).status, 409);
    fleet.is_down = true;
    assert_eq!(fleet.onboard(1).status, 500);
    fleet.is_down = false;
    assert_eq!(fleet.onboard(1).status, 202, "the failed try left no row");
}

#[test]
fn coldest_resident_makes_room() {
    let mut fleet = Script::new();
    (0..6).for_each(|number| assert_eq!(fleet.onboard(number).status, 202));
    let full = fleet.onboard(6);
    assert_eq!(full.status, 429);
    assert!(full.body["error"].as_str().unwrap().contains("6/6"));
    let mut request = onboarding(6);
    request["evictColdest"] = json!(true);
    let refused = fleet.post("/onboard", &request);
    assert_eq!((refused.status, refused.body["rejected"].as_array().unwrap().len()), (429, 6));
    fleet.activities.insert("acme/app3".to_owned(), 5);
    let swapped = fleet.post("/onboard", &request);
    assert_eq!((swapped.status, &swapped.body["evicted"]["resource"]), (202, &json!("repo:acme/app3")));
    assert_eq!(swapped.body["evicted"]["lastActivityAt"], 5);
    let list = fleet.send(Credential::Read, "GET", "/residents", &json!(null)).body;
    assert_eq!((&list["count"], &list["cap"]), (&json!(6), &json!(6)));
    assert_eq!((&list["inFlight"], &list["inFlightUnknown"]), (&json!(null), &json!(6)));
}

#[test]
fn overrides_lower_the_cap_of_their_build() {
    let fleet = Script::new();
    let set = |fields: Value| {
        let mut body = json!({ "op": "set-test-overrides" });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        fleet.post("/debug", &body)
    };
    assert_eq!(set(json!({ "cap": 7 })).status, 400);
    assert_eq!(set(json!({ "cap": 1 })).body["cap"], 1);
    assert_eq!((fleet.onboard(0).status, fleet.onboard(1).status), (202, 429));
    assert_eq!(set(json!({})).body["cap"], 6);
    assert_eq!(fleet.onboard(1).status, 202);
    let offboarded = fleet.post("/offboard", &json!({ "resource": "repo:acme/app1" }));
    assert_eq!((offboarded.status, &offboarded.body["registryRemoved"]), (200, &json!(true)));
    let pass = fleet.post("/debug", &json!({ "op": "run-watchdog" }));
    assert_eq!(pass.body["count"], 1);
}
