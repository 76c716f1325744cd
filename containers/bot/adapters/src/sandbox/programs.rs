//! The programs that the service itself starts, from folders that no command can write to.

use std::path::{Path, PathBuf};

/// The trusted folders, as a search path for the service's own programs.
pub const TRUSTED_PATH: &str =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin";

/// Returns a program's absolute path in a trusted folder.
pub fn trusted(program: &str) -> Option<PathBuf> {
    TRUSTED_PATH
        .split(':')
        .map(|folder| Path::new(folder).join(program))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_outside_trusted_folders_is_not_found() {
        assert!(trusted("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(trusted("../../tmp"), None);
        assert_eq!(trusted("no-such-program"), None);
    }
}
