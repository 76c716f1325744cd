//! The client for the daemon in a resident's container.

use ars_container::failure::is_unreachable;
use ars_platform::{Container, Incoming, Outgoing};
use ars_resident::daemon::{
    CANCEL_PATH, CancelRequest, DISK_PATH, DiskRequest, STATUS_PATH, STEPS_PATH, Status, StepEnd,
    StepEvent, StepRequest, TRANSFERS_PATH,
};
use ars_resident::disk::Sample;
use ars_resident::document::read_bytes;
use ars_resident::names::BackupId;
use ars_resident_engine::HostError;
use serde_json::to_string;

/// Port that the daemon listens on.
pub const PORT: u16 = 8080;
/// Maximum size of a response with a single document.
const DOCUMENT_MAX_BYTES: usize = 1 << 20;
/// Maximum line length in a step's response: two heads of 400 kB as escaped JSON.
const LINE_MAX_BYTES: usize = 8 << 20;

/// Error text for a response without its end.
const BROKEN_OFF: &str = "the daemon's answer broke off";

/// Why a call to the daemon failed.
pub enum CallError {
    /// The port is closed or the response broke off, as from a container that is ending.
    Closed(String),
    /// Any other failure.
    Other(HostError),
}

impl CallError {
    /// Classifies the platform's error, which is a text without a code.
    pub fn from_platform(text: String) -> Self {
        if is_unreachable(&text) {
            Self::Closed(text)
        } else {
            Self::Other(HostError::Failed(text))
        }
    }
}

impl From<HostError> for CallError {
    fn from(error: HostError) -> Self {
        Self::Other(error)
    }
}

impl From<CallError> for HostError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Closed(text) => Self::Failed(text),
            CallError::Other(error) => error,
        }
    }
}

/// The daemon, with the bearer for this container start.
pub struct Daemon<'a> {
    /// Container that runs the daemon.
    pub container: &'a Container,
    /// Bearer that the daemon expects.
    pub bearer: String,
}

impl Daemon<'_> {
    /// Returns the daemon's state. It fails until the daemon listens.
    pub async fn status(&self) -> Result<Status, CallError> {
        let answer = self
            .container
            .send("GET", STATUS_PATH, &self.bearer, Outgoing::None)
            .await;
        shaped(read_bytes(
            &document(answer.map_err(CallError::from_platform)?).await?,
        ))
    }

    /// Performs a step. Dropping the future ends it.
    pub async fn perform(
        &self,
        request: &StepRequest,
        progress: &dyn Fn(u64),
    ) -> Result<StepEnd, CallError> {
        let answer = self.post(STEPS_PATH, to_string(request)).await?;
        if answer.status() != 200 {
            return Err(failed(&format!("the daemon answered {}", answer.status())));
        }
        let chunks = answer
            .chunks()
            .ok_or_else(|| failed("the daemon's answer has no body"))?;
        let mut line = Vec::new();
        while let Some(piece) = chunks
            .next()
            .await
            .map_err(|broken| CallError::Closed(format!("{BROKEN_OFF}: {broken}")))?
        {
            for byte in piece.to_vec() {
                if byte != b'\n' {
                    line.push(byte);
                    continue;
                }
                match read_bytes(&std::mem::take(&mut line)) {
                    Ok(StepEvent::Heartbeat) => {}
                    Ok(StepEvent::Progress { bytes }) => progress(bytes),
                    Ok(StepEvent::Ended(end)) => return Ok(end),
                    Err(_) => return Err(failed("the daemon sent an unknown line")),
                }
            }
            if line.len() > LINE_MAX_BYTES {
                return Err(failed("the daemon sent a line that is too long"));
            }
        }
        Err(CallError::Closed(BROKEN_OFF.to_owned()))
    }

    /// Ends steps and fences them out.
    pub async fn cancel(&self, request: CancelRequest) -> Result<(), CallError> {
        let answer = self.post(CANCEL_PATH, to_string(&request)).await?;
        ok(&answer)
    }

    /// Measures the container's disk.
    pub async fn disk(&self, request: &DiskRequest) -> Result<Sample, CallError> {
        let answer = self.post(DISK_PATH, to_string(request)).await?;
        shaped(read_bytes(&document(answer).await?))
    }

    /// Returns an archive that a step wrote.
    pub async fn archive(&self, id: &BackupId) -> Result<Incoming, CallError> {
        let path = transfer_path(id);
        let answer = self
            .container
            .send("GET", &path, &self.bearer, Outgoing::None)
            .await;
        let answer = answer.map_err(CallError::from_platform)?;
        ok(&answer)?;
        Ok(answer)
    }

    /// Removes an archive from the daemon's disk.
    pub async fn forget(&self, id: &BackupId) -> Result<(), CallError> {
        let path = transfer_path(id);
        let answer = self
            .container
            .send("DELETE", &path, &self.bearer, Outgoing::None)
            .await;
        ok(&answer.map_err(CallError::from_platform)?)
    }

    /// Posts a document. It is text already, so that this is compiled once for all types.
    async fn post(
        &self,
        path: &str,
        text: Result<String, serde_json::Error>,
    ) -> Result<Incoming, CallError> {
        let text = text.map_err(|error| failed(&error.to_string()))?;
        let sent = self
            .container
            .send("POST", path, &self.bearer, Outgoing::Json(&text))
            .await;
        sent.map_err(CallError::from_platform)
    }
}

/// Returns an archive's path.
pub fn transfer_path(id: &BackupId) -> String {
    format!("{TRANSFERS_PATH}/{id}")
}

/// Checks that a call without a result succeeded.
pub fn ok(answer: &Incoming) -> Result<(), CallError> {
    match answer.status() {
        200..=299 => Ok(()),
        status => Err(failed(&format!("the daemon answered {status}"))),
    }
}

/// Returns a document's bytes.
async fn document(answer: Incoming) -> Result<Vec<u8>, CallError> {
    ok(&answer)?;
    answer
        .bytes(DOCUMENT_MAX_BYTES)
        .await
        .ok_or_else(|| CallError::Closed(BROKEN_OFF.to_owned()))
}

fn shaped<T>(read: Result<T, serde_json::Error>) -> Result<T, CallError> {
    read.map_err(|_| failed("the daemon's answer has another shape"))
}

fn failed(text: &str) -> CallError {
    CallError::Other(HostError::Failed(text.to_owned()))
}
