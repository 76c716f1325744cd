//! The process's own memory, from the kernel's accounts in `/proc`.
//!
//! `heapUsedMb` is the resident anonymous memory (`RssAnon`): the heap and the stacks as the kernel sees them. An
//! allocator's own count would need unsafe code and would miss what it has not given back.

use std::fs;

/// Resident memory and resident anonymous memory, in MiB; zero where the kernel does not tell.
pub(crate) fn memory_mb() -> (f64, f64) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    (field_mb(&status, "VmRSS:"), field_mb(&status, "RssAnon:"))
}

fn field_mb(status: &str, name: &str) -> f64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib =
        line.and_then(|rest| rest.split_whitespace().next()).and_then(|number| number.parse::<f64>().ok());
    (kib.unwrap_or(0.0) / 1024.0 * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_kibibytes_and_given_in_mebibytes() {
        let status = "Name:\tars\nVmRSS:\t   10240 kB\nRssAnon:\t    5171 kB\n";
        assert_eq!(field_mb(status, "VmRSS:"), 10.0);
        assert_eq!(field_mb(status, "RssAnon:"), 5.0);
        assert_eq!(field_mb(status, "Nope:"), 0.0);
    }
}
