//! The routes over the registry and several residents.

use std::cell::RefCell;
use std::collections::BTreeMap;

use ars_resident::lifecycle::StateWord;
use ars_resident::names::Resource;
use ars_resident::wire::{Build, Credential};
use ars_resident_engine::fleet::{Admitted, Fleet, Membership, Request, perform, prepare};
use ars_resident_engine::{
    Call, Fault, HostError, Registry, RegistryCall, RegistryResponse, Reply,
};
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
        Self {
            registry,
            calls,
            activities,
            membership: Membership::Proven,
            is_down: false,
        }
    }

    fn send(&self, credential: Credential, method: &str, path: &str, body: &Value) -> Reply {
        self.ask(credential, method, (path, "repo:acme/app0"), body)
    }

    /// Sends a request with this resource in the query.
    fn ask(
        &self,
        credential: Credential,
        method: &str,
        (path, query): (&str, &str),
        body: &Value,
    ) -> Reply {
        let (body, resource) = (body.to_string(), Some(query));
        let admitted = match Admitted::admit(path, method, credential) {
            Ok(admitted) => admitted,
            Err(reply) => return reply,
        };
        let request = Request {
            admitted,
            resource,
            body: &body,
        };
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
        Build {
            commit: "build-1".to_owned(),
            built_at: None,
        }
    }

    async fn registry(&self, call: RegistryCall) -> Result<RegistryResponse, Fault> {
        self.registry.answer(call)
    }

    async fn resident(&self, resource: &Resource, call: Call) -> Result<Reply, Fault> {
        // Calls cross objects as JSON.
        let call: Call = serde_json::from_str(&serde_json::to_string(&call)?)?;
        self.calls
            .borrow_mut()
            .push((resource.clone(), call.clone()));
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
    let status =
        |credential, method, path, body: &Value| fleet.send(credential, method, path, body).status;
    assert_eq!(
        status(Credential::None, "GET", "/healthz", &json!(null)),
        200
    );
    assert_eq!(
        status(Credential::Operator, "POST", "/nope", &json!(null)),
        401
    );
    assert_eq!(
        status(Credential::Admin, "POST", "/nope", &json!(null)),
        404
    );
    assert_eq!(
        status(Credential::Operator, "GET", "/attach", &json!(null)),
        405
    );
    let attach = json!({ "resource": "repo:acme/app0", "threadKey": "load:1" });
    assert_eq!(
        status(
            Credential::Operator,
            "POST",
            "/attach",
            &json!({ "resource": "x" })
        ),
        400
    );
    assert_eq!(
        status(Credential::Operator, "POST", "/attach", &attach),
        404
    );
    assert_eq!(fleet.onboard(0).status, 202);
    assert_eq!(
        status(Credential::Operator, "POST", "/attach", &attach),
        200
    );
    assert_eq!(
        status(
            Credential::Read,
            "POST",
            "/debug",
            &json!({ "op": "refresh-now" })
        ),
        403
    );
    assert_eq!(
        status(Credential::Operator, "GET", "/status", &json!(null)),
        200
    );
    let op = |op| json!({ "resource": "repo:acme/app0", "op": op });
    assert_eq!(
        status(Credential::Operator, "POST", "/op", &op("deploy")),
        400
    );
    let effects = json!({ "resource": "repo:acme/app0", "effects": { "test": "mutating" } });
    assert_eq!(
        fleet.post("/reconfigure", &effects).body["record"]["effects"]["test"],
        "mutating"
    );
    let calls = fleet.calls.borrow().len();
    let [first, again] = [(); 2].map(|()| fleet.post("/reconfigure", &effects));
    assert_eq!(
        (again.status, &again.body["record"]["effects"]["test"]),
        (200, &json!("mutating"))
    );
    assert_eq!(
        again.body["record"]["updatedAt"],
        first.body["record"]["updatedAt"]
    );
    assert_eq!(
        fleet.calls.borrow().len(),
        calls + 2,
        "the object may have missed the first call"
    );
    assert_eq!(
        fleet
            .post("/reconfigure", &json!({ "resource": "repo:acme/app0" }))
            .status,
        400
    );
    let refused = fleet.send(Credential::Operator, "POST", "/op", &op("test"));
    assert_eq!(refused.status, 409);
    assert!(
        refused.body["error"]
            .as_str()
            .unwrap()
            .starts_with("op-refused: ")
    );
}

/// The tests' override reaches the attach in its build.
#[test]
fn attach_carries_the_override_of_its_floor() {
    let fleet = Script::new();
    fleet.onboard(0);
    assert_eq!(
        fleet
            .post(
                "/debug",
                &json!({ "op": "set-test-overrides", "floorS": 30 })
            )
            .status,
        200
    );
    fleet.post(
        "/attach",
        &json!({ "resource": "repo:acme/app0", "threadKey": "load:1" }),
    );
    let calls = fleet.calls.borrow();
    assert!(
        matches!(
            calls.last().unwrap().1,
            Call::Attach {
                stale_after_s: Some(30),
                ..
            }
        ),
        "{calls:?}"
    );
}

/// Values that try to leave their place: a path, a key, or an argument to git or a shell.
const RESOURCES: [&str; 12] = [
    "",
    "acme/app0",
    "org:acme/app0",
    "repo:ACME/app0",
    "repo:acme/../app0",
    "repo:../../etc",
    "repo:acme/app0/..",
    "repo:acme/.git",
    "repo:-acme/app0",
    "repo:acme/app0;id",
    "repo:acme/app0\n",
    "repo:acme%2fapp0",
];
const REFS: [&str; 14] = [
    "",
    "-x",
    "--upload-pack=id",
    "/etc",
    "a..b",
    "a@{1}",
    "a.lock",
    "a b",
    "a\nb",
    "a\0b",
    "a~1",
    "a:b",
    "$(id)",
    "é",
];
const KEYS: [&str; 9] = [
    "",
    "load",
    "load:",
    ":a",
    "LOAD:a",
    "load:a/../b",
    "load:a b",
    "load:a\n",
    "load:$(id)",
];
const PATHS: [&str; 9] = [
    "",
    "..",
    "../x",
    "a/../../b",
    "a b",
    "$HOME/x",
    "a\nb",
    "a\0b",
    "é",
];
const OPS: [&str; 6] = ["", "deploy", "TEST", "test;id", "../test", "install"];
const SHAS: [&str; 4] = [
    "",
    "abc",
    "main",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
];
const NAMES: [&str; 6] = ["", "Test", "-x", "a;id", "../a", "a\n"];

#[test]
fn hostile_values_reach_no_object() {
    let fleet = Script::new();
    assert_eq!(fleet.onboard(0).status, 202);
    let known = fleet.registry.answer(RegistryCall::List).unwrap();
    fleet.calls.borrow_mut().clear();
    let base = json!({
        "resource": "repo:acme/app0", "threadKey": "load:1", "command": "true", "path": "a", "content": "x",
        "op": "test", "sha": "a".repeat(40), "branch": "ars/r-1", "from": { "pullRequest": 1 },
        "commands": { "test": "true", "build": "true" }, "defaultRef": "main",
    });
    let reject = |path: &str, field: &str, value: &Value| {
        let mut body = base.clone();
        body[field] = value.clone();
        if path == "/debug" {
            body["op"] = json!(if field == "prefix" {
                "purge-bindings"
            } else {
                "backdate-thread"
            });
            body["days"] = json!(1);
        }
        let reply = fleet.post(path, &body);
        let error = reply.body["error"].as_str().unwrap_or_default().to_owned();
        let is_named = error.starts_with("invalid: ") || error.starts_with("path-escape: ");
        assert!(
            reply.status == 400 && is_named,
            "{path} {field}={value}: {} {error}",
            reply.status
        );
    };
    let all = [
        "/onboard",
        "/offboard",
        "/reconfigure",
        "/rebuild",
        "/debug",
    ];
    let of_threads = [
        "/attach",
        "/detach",
        "/exec",
        "/read",
        "/write",
        "/push",
        "/checkout",
    ];
    let each = |paths: &[&str], field: &str, values: &[&str]| {
        for path in paths {
            values
                .iter()
                .for_each(|value| reject(path, field, &json!(value)));
            reject(path, field, &json!({ "$": 1 }));
        }
    };
    each(
        &[&all[..], &of_threads, &["/op"]].concat(),
        "resource",
        &RESOURCES,
    );
    each(&[&of_threads[..], &["/debug"]].concat(), "threadKey", &KEYS);
    each(&["/attach"], "refHint", &REFS[1..]);
    each(&["/op"], "ref", &REFS[1..]);
    each(&["/onboard", "/reconfigure"], "defaultRef", &REFS);
    each(&["/attach", "/push", "/checkout"], "sha", &SHAS);
    each(
        &["/push"],
        "branch",
        &[
            &REFS[..],
            &["main", "ars/", "ars/a b", "ars/a.b/c", "refs/heads/ars/a"],
        ]
        .concat(),
    );
    each(&["/checkout"], "from", &["pullRequest", "main"]);
    for from in [
        json!({ "pullRequest": 0 }),
        json!({ "branch": "main" }),
        json!({}),
    ] {
        reject("/checkout", "from", &from);
    }
    each(&["/read", "/write"], "path", &PATHS);
    each(&["/op"], "op", &OPS);
    each(&["/exec"], "command", &["", "a\0b"]);
    each(
        &["/debug"],
        "prefix",
        &["", "load", "http:", "LOAD:", "load:$(id)"],
    );
    for name in NAMES {
        let commands = json!({ "test": "true", "build": "true", name: "true" });
        reject("/onboard", "commands", &commands);
        reject("/reconfigure", "effects", &json!({ name: "readonly" }));
    }
    for resource in RESOURCES {
        let reply = fleet.ask(
            Credential::Operator,
            "GET",
            ("/status", resource),
            &json!(null),
        );
        assert_eq!(reply.status, 400, "{resource}");
    }
    assert_eq!(*fleet.calls.borrow(), []);
    assert_eq!(fleet.registry.answer(RegistryCall::List).unwrap(), known);
}

/// A caller sets no variable for a command: no request field has a place for it.
#[test]
fn environment_of_a_request_is_inert() {
    let fleet = Script::new();
    fleet.onboard(0);
    let body = json!({
        "resource": "repo:acme/app0", "threadKey": "load:1", "command": "true",
        "env": { "LD_PRELOAD": "x" }, "environment": { "LD_PRELOAD": "x" }, "x-env-LD_PRELOAD": "x",
    });
    assert_eq!(
        fleet
            .send(Credential::Operator, "POST", "/exec", &body)
            .status,
        200
    );
    let calls = serde_json::to_string(&fleet.calls.borrow().last().unwrap().1).unwrap();
    assert!(
        calls.contains("\"command\":\"true\"") && !calls.contains("LD_PRELOAD"),
        "{calls}"
    );
}

#[test]
fn onboarding_takes_a_place_only_after_the_proof() {
    let mut fleet = Script::new();
    fleet.membership = Membership::Absent("acme/app0".to_owned());
    assert_eq!(fleet.onboard(0).status, 403);
    fleet.membership = Membership::Unknown("the code host answered the mint with 502".to_owned());
    let failed = fleet.onboard(0);
    assert_eq!(failed.status, 503);
    assert!(
        failed.body["error"]
            .as_str()
            .unwrap()
            .starts_with("github-token-mint-failed: ")
    );
    fleet.membership = Membership::Unconfigured;
    let warned = fleet.onboard(0);
    assert!(
        warned.body["warning"]
            .as_str()
            .unwrap()
            .starts_with("github-app-not-configured:")
    );
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
    assert_eq!(
        (
            refused.status,
            refused.body["rejected"].as_array().unwrap().len()
        ),
        (429, 6)
    );
    fleet.activities.insert("acme/app3".to_owned(), 5);
    let swapped = fleet.post("/onboard", &request);
    assert_eq!(
        (swapped.status, &swapped.body["evicted"]["resource"]),
        (202, &json!("repo:acme/app3"))
    );
    assert_eq!(swapped.body["evicted"]["lastActivityAt"], 5);
    let list = fleet
        .send(Credential::Read, "GET", "/residents", &json!(null))
        .body;
    assert_eq!((&list["count"], &list["cap"]), (&json!(6), &json!(6)));
    assert_eq!(
        (&list["inFlight"], &list["inFlightUnknown"]),
        (&json!(null), &json!(6))
    );
}

#[test]
fn overrides_lower_the_cap_of_their_build() {
    let fleet = Script::new();
    let set = |fields: Value| {
        let mut body = json!({ "op": "set-test-overrides" });
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        fleet.post("/debug", &body)
    };
    assert_eq!(set(json!({ "cap": 7 })).status, 400);
    assert_eq!(set(json!({ "cap": 1 })).body["cap"], 1);
    assert_eq!(
        (fleet.onboard(0).status, fleet.onboard(1).status),
        (202, 429)
    );
    assert_eq!(set(json!({})).body["cap"], 6);
    assert_eq!(fleet.onboard(1).status, 202);
    let offboarded = fleet.post("/offboard", &json!({ "resource": "repo:acme/app1" }));
    assert_eq!(
        (offboarded.status, &offboarded.body["registryRemoved"]),
        (200, &json!(true))
    );
    let pass = fleet.post("/debug", &json!({ "op": "run-watchdog" }));
    assert_eq!(pass.body["count"], 1);
}
