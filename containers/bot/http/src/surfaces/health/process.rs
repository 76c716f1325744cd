//! The process's memory, read from `/proc`.
//!
//! `heapUsedMb` is the resident anonymous memory (`RssAnon`): heap and stacks as counted by the
//! kernel. Counting in an allocator would need unsafe code and would miss freed memory that the
//! allocator keeps.

use std::fs;

/// Returns resident and resident anonymous memory in MiB; zero where the kernel reports none.
pub(crate) fn memory_mb() -> (f64, f64) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    (field_mb(&status, "VmRSS:"), field_mb(&status, "RssAnon:"))
}

fn field_mb(status: &str, name: &str) -> f64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse::<f64>().ok());
    (kib.unwrap_or(0.0) / 1024.0 * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kibibytes_become_mebibytes() {
        let status = "Name:\tars\nVmRSS:\t   10240 kB\nRssAnon:\t    5171 kB\n";
        assert_eq!(field_mb(status, "VmRSS:"), 10.0);
        assert_eq!(field_mb(status, "RssAnon:"), 5.0);
        assert_eq!(field_mb(status, "Nope:"), 0.0);
    }
}
