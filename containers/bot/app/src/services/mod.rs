//! The server's long-lived parts and their supervisor.

mod background;
mod disk;
mod http;
mod supervisor;

pub use background::{
    FollowService, LedgerService, OverridesService, RequeueService, ScheduleService,
};
pub use disk::{DiskService, MEASURE_INTERVAL};
pub use http::HttpService;
pub use supervisor::{Handle, Service, Supervisor};
