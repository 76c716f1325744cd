//! The two ways out of a command: standard output carries what was asked for and nothing else, standard error
//! everything about it. The standard macros panic when nobody reads; a run must outlive its reader.

use std::io::{self, Write as _};

/// Writes a line to standard error. Whoever closed it does not want to know.
pub fn tell(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Writes to standard output. A reader that left early (`ars ask … | head`) has what it wanted; anything else, such
/// as a full disk, is a failure.
pub fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
