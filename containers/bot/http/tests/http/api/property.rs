//! Tests that no request ends in a service fault.

use ars_auth::Set;
use ars_commands::Surface;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::{prelude::*, test_runner::TestRunner};
use reqwest::Client;
use serde_json::{Map, Value};

use super::support::{bot, read};
use crate::{cases::property, support::record};

/// Queries and bodies for each command, unless `PROPTEST_CASES` is set.
const CASES: u32 = 24;
/// Values that some field accepts, and malformed values.
const VALUES: &[&str] = &[
    "",
    "done",
    "0",
    "-1",
    "1e999",
    "9007199254740993",
    "true",
    "all",
    "messages",
    "http:x",
    "%ff",
    "%zz",
    "%",
    "+",
    "a=b",
];

/// Generates a query string part: a name or a value.
fn part(names: Vec<&'static str>) -> BoxedStrategy<String> {
    let encoded =
        "\\PC{0,12}".prop_map(|text| utf8_percent_encode(&text, NON_ALPHANUMERIC).to_string());
    prop_oneof![
        4 => prop::sample::select(names).prop_map(str::to_owned),
        4 => prop::sample::select(VALUES).prop_map(str::to_owned),
        1 => encoded,
        1 => "[!-~&&[^#]]{0,20}",
    ]
    .boxed()
}

fn json() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        Just(Value::from("done")),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z.]{0,8}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
    .boxed()
}

#[test]
fn no_input_is_a_fault() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let bot = runtime.block_on(bot(Set::All, Set::All));
    bot.store.insert(record("done", 1_760_000_000_000, &[]));
    let client = Client::new();
    let commands = bot.core.commands();
    for definition in commands.registry().on(Surface::Api) {
        let url = bot.url(&format!("/api/{}", definition.id));
        let names: Vec<&'static str> = definition
            .fields()
            .map(|field| field.name)
            .chain(["after-seq", "min-runs", "nope", "models.coding"])
            .collect();
        let check = |request: reqwest::RequestBuilder| {
            let answer = runtime
                .block_on(async { read(request.bearer_auth("look").send().await.unwrap()).await });
            prop_assert!(answer.status < 500, "{:?}", answer);
            Ok(())
        };
        let pairs = prop::collection::vec((part(names.clone()), part(names.clone())), 0..4);
        let bodies = prop::collection::vec((prop::sample::select(names), json()), 0..4);
        let mut runner = TestRunner::new(property(CASES));
        if !definition.effect.is_write() {
            runner
                .run(&pairs, |pairs| {
                    let query: Vec<String> = pairs
                        .iter()
                        .map(|(name, value)| format!("{name}={value}"))
                        .collect();
                    check(client.get(format!("{url}?{}", query.join("&"))))
                })
                .unwrap();
        }
        runner
            .run(&bodies, |members| {
                let body: Map<String, Value> = members
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect();
                check(client.post(&url).json(&body))
            })
            .unwrap();
    }
}
