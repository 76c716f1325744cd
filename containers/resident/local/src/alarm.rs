//! A resident's alarm: a task that sleeps until the next due time.

use std::{cell::Cell, rc::Rc, time::Duration};

use ars_resident_engine::{Engine, Host as _};
use ars_sql_native::NativeSql;
use ars_types::UnixMillis;
use tokio::sync::Notify;

use crate::host::LocalHost;

/// Delay after an alarm that failed.
const RETRY_DELAY_MS: i64 = 30_000;

/// When the next alarm rings.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    at: Cell<Option<UnixMillis>>,
    changed: Notify,
}

impl Alarm {
    pub(crate) fn set(&self, at: UnixMillis) {
        self.at.set(Some(at));
        self.changed.notify_one();
    }
}

/// Calls the engine at each alarm, for the thread's life.
pub(crate) async fn ring(alarm: Rc<Alarm>, engine: Rc<Engine<NativeSql, LocalHost>>) {
    loop {
        let Some(at) = alarm.at.get() else {
            alarm.changed.notified().await;
            continue;
        };
        let left = u64::try_from(at - engine.host().now()).unwrap_or(0);
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(left)) => {}
            () = alarm.changed.notified() => continue,
        }
        alarm.at.set(None);
        if let Err(fault) = engine.alarm().await {
            tracing::error!(
                error = &fault as &dyn std::error::Error,
                "a resident's alarm failed"
            );
            alarm.set(engine.host().now() + RETRY_DELAY_MS);
        }
    }
}
