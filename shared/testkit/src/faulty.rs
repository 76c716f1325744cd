//! A storage adapter with fault injection: at a statement, before a commit or after it.
//!
//! It wraps a real adapter, so the real database rolls back and commits. Not here: choosing faults,
//! and the store's expected state (`ledger`).

use std::cell::Cell;
use std::rc::Rc;

use ars_sql::{Row, Sql, SqlError, Value};

/// Point at which a request fails, counted from 0 within the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// This statement is not run.
    Statement(u32),
    /// This commit is rolled back instead.
    BeforeCommit(u32),
    /// This commit succeeds, but the caller gets an error.
    AfterCommit(u32),
}

impl Fault {
    /// Returns whether the request's writes up to this point are durable.
    pub const fn keeps(self) -> bool {
        matches!(self, Self::AfterCommit(_))
    }
}

/// An adapter that wraps another. Clones share it: a store opened on a clone finds all committed
/// data.
///
/// A transaction, or a statement outside a transaction, counts as a commit if it changed a row.
/// Other commits cannot be observed.
pub struct Faulty<S> {
    shared: Rc<Shared<S>>,
}

struct Shared<S> {
    inner: S,
    fault: Cell<Option<Fault>>,
    statements: Cell<u32>,
    commits: Cell<u32>,
    inside: Cell<bool>,
    fired: Cell<bool>,
}

impl<S> Clone for Faulty<S> {
    fn clone(&self) -> Self {
        Self {
            shared: Rc::clone(&self.shared),
        }
    }
}

impl<S: Sql> Faulty<S> {
    /// Returns an adapter without a fault.
    pub fn new(inner: S) -> Self {
        let cell = || Cell::new(0);
        let fault = Cell::new(None);
        let inside = Cell::new(false);
        let fired = Cell::new(false);
        let shared = Shared {
            inner,
            fault,
            statements: cell(),
            commits: cell(),
            inside,
            fired,
        };
        Self {
            shared: Rc::new(shared),
        }
    }

    /// Makes the next request fail here, if it gets this far.
    pub fn arm(&self, fault: Fault) {
        self.shared.fault.set(Some(fault));
        self.shared.statements.set(0);
        self.shared.commits.set(0);
        self.shared.fired.set(false);
    }

    /// Removes the fault. Returns whether it was triggered.
    pub fn disarm(&self) -> bool {
        self.shared.fault.set(None);
        self.shared.fired.replace(false)
    }

    fn statement<T>(&self, run: impl FnOnce() -> Result<T, SqlError>) -> Result<T, SqlError> {
        if self.shared.fault.get().is_none() {
            return run();
        }
        let statement = self
            .shared
            .statements
            .replace(self.shared.statements.get() + 1);
        if self.reaches(Fault::Statement(statement)) {
            return Err(fault("at a statement"));
        }
        if self.shared.inside.get() {
            run()
        } else {
            self.committing(run)
        }
    }

    fn reaches(&self, fault: Fault) -> bool {
        let reached = self.shared.fault.get() == Some(fault);
        if reached {
            self.shared.fired.set(true);
        }
        reached
    }

    /// Returns the number of rows changed since the database was opened, including rolled-back changes.
    fn changes(&self) -> Result<i64, SqlError> {
        let rows = self.shared.inner.query("SELECT total_changes()", &[])?;
        rows.first().map_or_else(
            || Err(SqlError::Shape("no row".into())),
            |row| row.integer(0),
        )
    }

    fn committing<T, E: From<SqlError>>(
        &self,
        body: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let mut after = false;
        let value = self.shared.inner.transaction(|| {
            let before = self.changes()?;
            self.shared.inside.set(true);
            let done = body();
            self.shared.inside.set(false);
            let value = done?;
            if self.changes()? != before {
                let commit = self.shared.commits.replace(self.shared.commits.get() + 1);
                if self.reaches(Fault::BeforeCommit(commit)) {
                    return Err(E::from(fault("before the commit")));
                }
                after = self.reaches(Fault::AfterCommit(commit));
            }
            Ok(value)
        })?;
        if after {
            Err(E::from(fault("after the commit")))
        } else {
            Ok(value)
        }
    }
}

impl<S: Sql> Sql for Faulty<S> {
    type Text = S::Text;

    fn each(
        &self,
        sql: &str,
        params: &[Value],
        row: impl FnMut(Row) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        self.statement(|| self.shared.inner.each(sql, params, row))
    }

    fn text(&self, sql: &str, params: &[Value]) -> Result<Option<S::Text>, SqlError> {
        self.statement(|| self.shared.inner.text(sql, params))
    }

    fn transaction<T, E: From<SqlError>>(
        &self,
        body: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        if self.shared.fault.get().is_none() {
            return self.shared.inner.transaction(body);
        }
        self.committing(body)
    }
}

fn fault(place: &str) -> SqlError {
    SqlError::Engine(format!("a fault of the test, {place}"))
}

#[cfg(test)]
mod tests {
    use ars_sql_native::NativeSql;

    use super::*;

    const TABLE: &str = "CREATE TABLE t (x INTEGER) STRICT";
    const INSERT: &str = "INSERT INTO t VALUES (1)";

    fn table() -> Faulty<NativeSql> {
        let sql = Faulty::new(NativeSql::in_memory().unwrap());
        sql.execute(TABLE, &[]).unwrap();
        sql
    }

    fn rows(sql: &Faulty<NativeSql>) -> usize {
        sql.query("SELECT x FROM t", &[]).unwrap().len()
    }

    fn insert_twice(sql: &Faulty<NativeSql>) -> Result<(), SqlError> {
        sql.transaction(|| {
            sql.execute(INSERT, &[])?;
            sql.execute(INSERT, &[])
        })
    }

    #[test]
    fn only_faults_after_the_commit_keep_writes() {
        for (fault, left) in [
            (Fault::Statement(1), 0),
            (Fault::BeforeCommit(0), 0),
            (Fault::AfterCommit(0), 2),
        ] {
            let sql = table();
            sql.arm(fault);
            assert!(insert_twice(&sql).is_err(), "{fault:?}");
            assert!(sql.disarm(), "{fault:?}");
            assert_eq!(rows(&sql), left, "{fault:?}");
            insert_twice(&sql).unwrap();
            assert_eq!(rows(&sql), left + 2, "{fault:?}");
        }
    }

    #[test]
    fn single_write_statement_is_a_commit() {
        for (fault, left) in [(Fault::BeforeCommit(0), 0), (Fault::AfterCommit(0), 1)] {
            let sql = table();
            sql.arm(fault);
            assert_eq!(
                sql.query("SELECT x FROM t", &[]),
                Ok(Vec::new()),
                "a read is no commit"
            );
            assert!(sql.execute(INSERT, &[]).is_err(), "{fault:?}");
            assert!(sql.disarm());
            assert_eq!(rows(&sql), left, "{fault:?}");
        }
    }

    #[test]
    fn a_fault_beyond_the_request_never_fires() {
        let sql = table();
        sql.arm(Fault::AfterCommit(1));
        insert_twice(&sql).unwrap();
        assert!(!sql.disarm());
    }
}
