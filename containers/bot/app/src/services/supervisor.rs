//! Runs services as tasks, reports the first that fails, and stops them.
//!
//! Not here: restarts. A service that ends early leaves unknown state behind, so the process shuts
//! down and whatever runs it (a container, a service manager) starts a new process.

use std::time::Duration;

use async_trait::async_trait;
use tokio::{
    sync::{mpsc, watch},
    task::AbortHandle,
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

/// A long-lived part that the process runs.
#[async_trait]
pub trait Service: Send + 'static {
    /// Returns the name for the log.
    fn name(&self) -> &'static str;

    /// Runs until `stop` fires. Returning earlier means that the service failed.
    async fn run(self, stop: CancellationToken);
}

/// Stops a service, or waits until it ends. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Handle {
    name: &'static str,
    stop: CancellationToken,
    has_ended: watch::Receiver<bool>,
    task: AbortHandle,
}

impl Handle {
    /// Asks the service to stop.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until the service has ended.
    pub async fn ended(&self) {
        // The sender is dropped only after it sent `true`, or with the runtime.
        let _ = self.has_ended.clone().wait_for(|ended| *ended).await;
    }
}

/// Services that the process runs.
#[derive(Debug)]
pub struct Supervisor {
    services: Vec<Handle>,
    report: mpsc::UnboundedSender<&'static str>,
    failures: mpsc::UnboundedReceiver<&'static str>,
}

impl Supervisor {
    /// Makes a supervisor without services.
    pub fn new() -> Self {
        let (report, failures) = mpsc::unbounded_channel();
        Self {
            services: Vec::new(),
            report,
            failures,
        }
    }

    /// Starts a service that this installation may not have.
    pub fn start_any(&mut self, service: Option<impl Service>) {
        if let Some(service) = service {
            self.start(service);
        }
    }

    /// Starts a service as a task.
    pub fn start(&mut self, service: impl Service) -> Handle {
        let name = service.name();
        let stop = CancellationToken::new();
        let (sender, has_ended) = watch::channel(false);
        let task = tokio::spawn(service.run(stop.clone()));
        let handle = Handle {
            name,
            stop,
            has_ended,
            task: task.abort_handle(),
        };
        let (stop, report) = (handle.stop.clone(), self.report.clone());
        tokio::spawn(async move {
            let failure = match task.await {
                Err(error) if error.is_panic() => Some("panicked"),
                Ok(()) if !stop.is_cancelled() => Some("ended early"),
                Ok(()) | Err(_) => None,
            };
            if let Some(failure) = failure {
                tracing::error!(service = name, failure, "service failed");
                // The receiver lives as long as the supervisor; without it nothing has to be
                // reported.
                let _ = report.send(name);
            }
            sender.send_replace(true);
        });
        self.services.push(handle.clone());
        handle
    }

    /// Waits until a service fails and returns the service's name.
    pub async fn failure(&mut self) -> &'static str {
        match self.failures.recv().await {
            Some(name) => name,
            // Unreachable: this supervisor holds a sender.
            None => std::future::pending().await,
        }
    }

    /// Stops every service and waits for each; those that still run after `limit` are aborted.
    pub async fn shut_down(self, limit: Duration) {
        let deadline = Instant::now() + limit;
        for service in &self.services {
            service.stop();
        }
        for service in &self.services {
            if timeout_at(deadline, service.ended()).await.is_err() {
                tracing::warn!(service = service.name, "service did not stop in time");
                service.task.abort();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    use super::*;

    const LIMIT: Duration = Duration::from_secs(2);

    /// How a test service behaves.
    enum Script {
        /// Stops when asked to, and notes it.
        Obey(Arc<AtomicBool>),
        EndEarly,
        Panic,
        Hang,
    }

    #[async_trait]
    impl Service for Script {
        fn name(&self) -> &'static str {
            "scripted"
        }

        async fn run(self, stop: CancellationToken) {
            match self {
                Self::Obey(has_stopped) => {
                    stop.cancelled().await;
                    has_stopped.store(true, Ordering::Relaxed);
                }
                Self::EndEarly => {}
                Self::Panic => panic!("as scripted"),
                Self::Hang => std::future::pending().await,
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn failed_service_is_reported() {
        for script in [Script::EndEarly, Script::Panic] {
            let mut supervisor = Supervisor::new();
            let obedient = supervisor.start(Script::Obey(Arc::default()));
            let failing = supervisor.start(script);
            assert_eq!(supervisor.failure().await, "scripted");
            failing.ended().await;
            assert!(!*obedient.has_ended.borrow(), "the others go on");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_waits_for_each_service() {
        let flags = [Arc::default(), Arc::default()];
        let mut supervisor = Supervisor::new();
        for flag in &flags {
            supervisor.start(Script::Obey(Arc::clone(flag)));
        }
        let began = Instant::now();
        supervisor.shut_down(LIMIT).await;
        assert!(flags.iter().all(|flag| flag.load(Ordering::Relaxed)));
        assert_eq!(began.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn hanging_service_is_aborted_at_the_limit() {
        let mut supervisor = Supervisor::new();
        let hanging = supervisor.start(Script::Hang);
        let began = Instant::now();
        supervisor.shut_down(LIMIT).await;
        assert_eq!(began.elapsed(), LIMIT);
        hanging.ended().await;
    }

    #[tokio::test(start_paused = true)]
    async fn requested_stop_is_no_failure() {
        let mut supervisor = Supervisor::new();
        let service = supervisor.start(Script::Obey(Arc::default()));
        service.stop();
        service.ended().await;
        assert!(supervisor.failures.try_recv().is_err());
    }
}
