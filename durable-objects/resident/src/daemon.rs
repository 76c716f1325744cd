//! The client for the daemon in a resident's container.

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
pub const BROKEN_OFF: &str = "the daemon's answer broke off";

/// The daemon, with the bearer for this container start.
pub struct Daemon<'a> {
    /// Container that runs the daemon.
    pub container: &'a Container,
    /// Bearer that the daemon expects.
    pub bearer: String,
}

impl Daemon<'_> {
    /// Returns the daemon's state. It fails until the daemon listens.
    pub async fn status(&self) -> Result<Status, HostError> {
        let answer = self
            .container
            .send("GET", STATUS_PATH, &self.bearer, Outgoing::None)
            .await;
        shaped(read_bytes(
            &document(answer.map_err(HostError::Failed)?).await?,
        ))
    }

    /// Performs a step. Dropping the future ends it.
    pub async fn perform(
        &self,
        request: &StepRequest,
        progress: &dyn Fn(u64),
    ) -> Result<StepEnd, HostError> {
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
            .map_err(|broken| failed(&format!("{BROKEN_OFF}: {broken}")))?
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
        Err(failed(BROKEN_OFF))
    }

    /// Ends steps and fences them out.
    pub async fn cancel(&self, request: CancelRequest) -> Result<(), HostError> {
        let answer = self.post(CANCEL_PATH, to_string(&request)).await?;
        ok(&answer)
    }

    /// Measures the container's disk.
    pub async fn disk(&self, request: &DiskRequest) -> Result<Sample, HostError> {
        let answer = self.post(DISK_PATH, to_string(request)).await?;
        shaped(read_bytes(&document(answer).await?))
    }

    /// Returns an archive that a step wrote.
    pub async fn archive(&self, id: &BackupId) -> Result<Incoming, HostError> {
        let path = transfer_path(id);
        let answer = self
            .container
            .send("GET", &path, &self.bearer, Outgoing::None)
            .await;
        let answer = answer.map_err(HostError::Failed)?;
        ok(&answer)?;
        Ok(answer)
    }

    /// Removes an archive from the daemon's disk.
    pub async fn forget(&self, id: &BackupId) -> Result<(), HostError> {
        let path = transfer_path(id);
        let answer = self
            .container
            .send("DELETE", &path, &self.bearer, Outgoing::None)
            .await;
        ok(&answer.map_err(HostError::Failed)?)
    }

    /// Posts a document. It is text already, so that this is compiled once for all types.
    async fn post(
        &self,
        path: &str,
        text: Result<String, serde_json::Error>,
    ) -> Result<Incoming, HostError> {
        let text = text.map_err(|error| failed(&error.to_string()))?;
        let sent = self
            .container
            .send("POST", path, &self.bearer, Outgoing::Json(&text))
            .await;
        sent.map_err(HostError::Failed)
    }
}

/// Returns an archive's path.
pub fn transfer_path(id: &BackupId) -> String {
    format!("{TRANSFERS_PATH}/{id}")
}

/// Checks that a call without a result succeeded.
pub fn ok(answer: &Incoming) -> Result<(), HostError> {
    match answer.status() {
        200..=299 => Ok(()),
        status => Err(failed(&format!("the daemon answered {status}"))),
    }
}

/// Returns a document's bytes.
async fn document(answer: Incoming) -> Result<Vec<u8>, HostError> {
    ok(&answer)?;
    answer
        .bytes(DOCUMENT_MAX_BYTES)
        .await
        .ok_or_else(|| failed("the daemon's answer broke off"))
}

fn shaped<T>(read: Result<T, serde_json::Error>) -> Result<T, HostError> {
    read.map_err(|_| failed("the daemon's answer has another shape"))
}

fn failed(text: &str) -> HostError {
    HostError::Failed(text.to_owned())
}
