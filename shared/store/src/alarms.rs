//! Several named alarms in a single object, to which the platform offers only one.
//!
//! The alarms lie in a table in the object's database, so they survive an eviction. Each change
//! ends in
//! [`Alarms::rearm`], which sets the platform's alarm to the earliest of them.
//!
//! An alarm stays in the table until the handler succeeds. An alarm that fails or panics runs again
//! after a backoff and delays no other, so handlers are idempotent.

use ars_sql::{Sql, SqlError, Value};

/// Milliseconds until a failed alarm runs again. Each further failure doubles them.
const RETRY_INTERVAL_MS: i64 = 2_000;
/// Longest backoff for a failed alarm.
const MAX_RETRY_INTERVAL_MS: i64 = 3_600_000;

/// Named alarms over an object's database.
pub struct Alarms<S, A> {
    sql: S,
    platform: A,
}

/// The platform's only alarm.
pub trait PlatformAlarm {
    /// Sets it, replacing the earlier time.
    ///
    /// # Errors
    /// The platform rejected it.
    fn set(&self, at_ms: i64) -> Result<(), SqlError>;
}

/// `failures` counts the unsuccessful runs since the alarm was set, including the current run.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS named_alarms (name TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, \
    failures INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID";

impl<S: Sql, A: PlatformAlarm> Alarms<S, A> {
    /// Opens the table and creates it if needed.
    ///
    /// # Errors
    /// The database failed.
    pub fn open(sql: S, platform: A) -> Result<Self, SqlError> {
        sql.execute(TABLE, &[])?;
        Ok(Self { sql, platform })
    }

    /// Sets a named alarm, replacing the earlier time.
    ///
    /// # Errors
    /// The database or the platform failed.
    pub fn set(&self, name: &str, at_ms: i64) -> Result<(), SqlError> {
        self.sql.execute(
            "INSERT INTO named_alarms (name, at_ms) VALUES (?, ?) \
             ON CONFLICT (name) DO UPDATE SET at_ms = excluded.at_ms, failures = 0",
            &[Value::from(name), Value::from(at_ms)],
        )?;
        self.rearm()
    }

    /// Cancels a named alarm. The platform's alarm may still fire at that time, and then runs no
    /// handler.
    ///
    /// # Errors
    /// The database or the platform failed.
    pub fn cancel(&self, name: &str) -> Result<(), SqlError> {
        self.sql.execute(
            "DELETE FROM named_alarms WHERE name = ?",
            &[Value::from(name)],
        )?;
        self.rearm()
    }

    /// Returns when a named alarm is due, or `None` when it is not set.
    ///
    /// # Errors
    /// The database failed.
    pub fn time_of(&self, name: &str) -> Result<Option<i64>, SqlError> {
        let rows = self.sql.query(
            "SELECT at_ms FROM named_alarms WHERE name = ?",
            &[Value::from(name)],
        )?;
        rows.first().map(|row| row.integer(0)).transpose()
    }

    /// Runs every due alarm's handler, earliest first, and rearms. A handler may set its alarm
    /// again. Returns the names and errors of failed handlers.
    ///
    /// # Errors
    /// The database or the platform failed. The platform then repeats its alarm.
    pub fn fire<E>(
        &self,
        now_ms: i64,
        mut handler: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<Vec<(String, E)>, SqlError> {
        let due = self.sql.query(
            "SELECT name, failures FROM named_alarms WHERE at_ms <= ? ORDER BY at_ms, name",
            &[Value::from(now_ms)],
        )?;
        let mut failed = Vec::new();
        for row in due {
            let name = row.text(0)?;
            // Before the handler: a panic in it ends this call, and the platform's repetition then runs the others.
            self.sql.execute(
                "UPDATE named_alarms SET at_ms = ?, failures = failures + 1 WHERE name = ?",
                &[
                    Value::from(now_ms + backoff(row.integer(1)?)),
                    Value::from(name),
                ],
            )?;
            match handler(name) {
                // A handler that set its alarm again has reset the count.
                Ok(()) => self.sql.execute(
                    "DELETE FROM named_alarms WHERE name = ? AND failures > 0",
                    &[Value::from(name)],
                )?,
                Err(error) => failed.push((name.to_owned(), error)),
            }
        }
        self.rearm()?;
        Ok(failed)
    }

    /// Sets the platform's alarm to the earliest named alarm.
    ///
    /// # Errors
    /// The database or the platform failed.
    pub fn rearm(&self) -> Result<(), SqlError> {
        let rows = self.sql.query("SELECT min(at_ms) FROM named_alarms", &[])?;
        match rows.first().filter(|row| !row.is_null(0)) {
            Some(row) => self.platform.set(row.integer(0)?),
            None => Ok(()),
        }
    }
}

/// Returns the backoff after another failure beyond `earlier`.
fn backoff(earlier: i64) -> i64 {
    RETRY_INTERVAL_MS
        .saturating_mul(1 << earlier.clamp(0, 30))
        .min(MAX_RETRY_INTERVAL_MS)
}

#[cfg(test)]
mod tests {
    use std::{
        cell::RefCell,
        panic::{AssertUnwindSafe, catch_unwind},
    };

    use ars_sql_native::NativeSql;

    use super::*;

    /// Records the times it is set to.
    #[derive(Default)]
    struct Recorded(RefCell<Vec<i64>>);

    impl PlatformAlarm for Recorded {
        fn set(&self, at_ms: i64) -> Result<(), SqlError> {
            self.0.borrow_mut().push(at_ms);
            Ok(())
        }
    }

    fn alarms() -> Alarms<NativeSql, Recorded> {
        Alarms::open(NativeSql::in_memory().unwrap(), Recorded::default()).unwrap()
    }

    fn fired(alarms: &Alarms<NativeSql, Recorded>, now_ms: i64) -> Vec<String> {
        let mut names = Vec::new();
        let failed = alarms.fire::<()>(now_ms, |name| {
            names.push(name.to_owned());
            Ok(())
        });
        assert_eq!(failed.unwrap(), []);
        names
    }

    #[test]
    fn platform_alarm_is_the_earliest() {
        let alarms = alarms();
        alarms.set("sweep", 300).unwrap();
        alarms.set("lease", 100).unwrap();
        alarms.set("refresh", 200).unwrap();
        alarms.cancel("lease").unwrap();
        alarms.set("sweep", 50).unwrap();
        assert_eq!(*alarms.platform.0.borrow(), [300, 100, 100, 200, 50]);
        assert_eq!(alarms.time_of("sweep").unwrap(), Some(50));
        assert_eq!(alarms.time_of("lease").unwrap(), None);
    }

    #[test]
    fn due_alarms_fire_once_in_order() {
        let alarms = alarms();
        for (name, at_ms) in [("late", 300), ("second", 200), ("first", 100)] {
            alarms.set(name, at_ms).unwrap();
        }
        assert_eq!(fired(&alarms, 99), Vec::<String>::new());
        assert_eq!(fired(&alarms, 200), ["first", "second"]);
        assert_eq!(fired(&alarms, 200), Vec::<String>::new());
        assert_eq!(alarms.platform.0.borrow().last(), Some(&300));
    }

    #[test]
    fn handler_may_set_its_alarm_again() {
        let alarms = alarms();
        alarms.set("sweep", 100).unwrap();
        assert!(
            alarms
                .fire(150, |name| alarms.set(name, 250))
                .unwrap()
                .is_empty()
        );
        assert_eq!(alarms.time_of("sweep").unwrap(), Some(250));
        assert_eq!(fired(&alarms, 250), ["sweep"]);
    }

    #[test]
    fn failed_alarm_backs_off_and_delays_no_other() {
        let alarms = alarms();
        for (name, at_ms) in [("first", 100), ("second", 110), ("third", 120)] {
            alarms.set(name, at_ms).unwrap();
        }
        let fails = |now_ms| {
            let done = alarms.fire(now_ms, |name| {
                if name == "second" {
                    Err("on purpose")
                } else {
                    Ok(())
                }
            });
            assert_eq!(done.unwrap(), [("second".to_owned(), "on purpose")]);
            alarms.time_of("second").unwrap().unwrap() - now_ms
        };
        assert_eq!(fails(150), RETRY_INTERVAL_MS);
        assert_eq!(
            *alarms.platform.0.borrow().last().unwrap(),
            150 + RETRY_INTERVAL_MS
        );
        assert_eq!(
            (
                alarms.time_of("first").unwrap(),
                alarms.time_of("third").unwrap()
            ),
            (None, None)
        );
        assert_eq!(fails(10_000), 2 * RETRY_INTERVAL_MS);
        for _ in 0..40 {
            assert!(fails(i64::from(u32::MAX)) <= MAX_RETRY_INTERVAL_MS);
            alarms
                .sql
                .execute("UPDATE named_alarms SET at_ms = 0", &[])
                .unwrap();
        }
        assert_eq!(fails(0), MAX_RETRY_INTERVAL_MS);
        alarms.set("second", 20).unwrap();
        assert_eq!(fails(20), RETRY_INTERVAL_MS, "it was set again");
        assert_eq!(fired(&alarms, 20 + RETRY_INTERVAL_MS), ["second"]);
        assert_eq!(alarms.time_of("second").unwrap(), None);
    }

    /// The panic ends the call, and the platform repeats its alarm.
    #[test]
    fn panicking_handler_delays_no_other() {
        let alarms = alarms();
        for (name, at_ms) in [("first", 100), ("second", 110)] {
            alarms.set(name, at_ms).unwrap();
        }
        let call = AssertUnwindSafe(|| alarms.fire::<()>(150, |_| panic!("on purpose")));
        assert!(catch_unwind(call).is_err());
        assert_eq!(fired(&alarms, 151), ["second"]);
        assert_eq!(fired(&alarms, 150 + RETRY_INTERVAL_MS), ["first"]);
    }

    #[test]
    fn alarms_survive_an_eviction() {
        let dir = tempfile::tempdir().unwrap();
        let open = || {
            let sql = NativeSql::open(&dir.path().join("object.sqlite")).unwrap();
            Alarms::open(sql, Recorded::default()).unwrap()
        };
        open().set("sweep", 100).unwrap();
        assert_eq!(fired(&open(), 100), ["sweep"]);
    }
}
