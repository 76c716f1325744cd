//! The long-lived parts of the server and their supervisor.

mod background;
mod http;
mod supervisor;

pub use background::{LedgerService, OverridesService, RequeueService};
pub use http::HttpService;
pub use supervisor::{Handle, Service, Supervisor};
