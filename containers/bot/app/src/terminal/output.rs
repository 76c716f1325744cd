//! Command output: results on standard output, everything else on standard error. The standard
//! macros panic when the reader closed the pipe, but a run must outlive the reader.

use std::io::{self, Write as _};

/// Writes a line to standard error. A closed standard error is ignored.
pub fn tell(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Writes to standard output. A closed pipe (`ars ask … | head`) is no failure; a full disk is.
pub fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
