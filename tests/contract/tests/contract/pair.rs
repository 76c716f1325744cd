//! The same requests to both subjects. Their answers must be equal.

use ars_tests_contract::{Answer, Length, Native, Sent, Subject, TOKEN, Workerd, now};
use ars_wire::state::{Key, Route};
use serde_json::{Value, json};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
pub const DAY: i64 = 24 * HOUR;

/// The stores in this process, which the tests in `shared` prove, and the built Worker.
pub struct Pair {
    native: Native,
    worker: Workerd,
    /// When the test started. Times that a test sends are at least an hour before or two days after
    /// it.
    pub base: i64,
    store: String,
}

impl Pair {
    /// Starts both without data.
    pub fn start() -> Self {
        Self {
            native: Native::start(),
            worker: Workerd::start(),
            base: now(),
            store: String::new(),
        }
    }

    /// Selects an empty store, or run where the run id selects the store.
    pub fn store(&mut self, name: &str) {
        name.clone_into(&mut self.store);
    }

    /// Sends a request to both, which must succeed.
    pub fn ok(&mut self, path: &str, body: Value) -> Value {
        self.ask(path, 200, body)
    }

    /// Sends a request to both. Adds the store to a body that names none.
    pub fn ask(&mut self, path: &str, status: u16, mut body: Value) -> Value {
        let key = Route::from_path(path).unwrap().key();
        if let (Key::Named(field) | Key::Run(field) | Key::Slug(field), Value::Object(fields)) =
            (key, &mut body)
        {
            fields.entry(field).or_insert_with(|| json!(self.store));
        }
        self.ask_text(path, status, &body.to_string())
    }

    /// Sends a text to both.
    pub fn ask_text(&mut self, path: &str, status: u16, body: &str) -> Value {
        let brief: String = body.chars().take(200).collect();
        let bearer = format!("Bearer {TOKEN}");
        let authorization = Some(bearer.as_str());
        let sent = Sent {
            method: "POST",
            path,
            authorization,
            length: Length::True,
            body: body.as_bytes(),
        };
        // No two requests share a millisecond, so that their times order them alike.
        let last = now();
        while now() == last {
            std::hint::spin_loop();
        }
        let expected = self.native.send(&sent);
        let Answer {
            status: found,
            body: answer,
        } = self.worker.send(&sent);
        assert_eq!(
            (found, expected.status),
            (status, status),
            "{path} {brief}: {answer} and {}",
            expected.body
        );
        let (expected, answer) = (self.timeless(expected.body), self.timeless(answer));
        assert!(
            answer == expected,
            "{path} {brief}\n  worker {answer}\n  native {expected}"
        );
        answer
    }

    /// Replaces times on the subjects' clocks, and leases from them, by their distance in minutes.
    fn timeless(&self, value: Value) -> Value {
        match value {
            Value::Number(number) => match number.as_i64().map(|time| time - self.base) {
                Some(away) if (-MINUTE..DAY + HOUR).contains(&away) => {
                    json!(format!("clock + {} min", away / (10 * MINUTE) * 10))
                }
                _ => Value::Number(number),
            },
            Value::Array(entries) => entries
                .into_iter()
                .map(|entry| self.timeless(entry))
                .collect(),
            Value::Object(fields) => fields
                .into_iter()
                .map(|(name, field)| (name, self.timeless(field)))
                .collect(),
            value => value,
        }
    }

    /// Asserts that the Worker logged no fault.
    pub fn finish(self) {
        assert!(
            !self.worker.log().contains("fault"),
            "{}",
            self.worker.log()
        );
    }
}
