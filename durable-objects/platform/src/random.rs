//! Random bytes from the platform.

use js_sys::Uint8Array;

use crate::raw;

/// Returns random bytes fit for identifiers and secrets.
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    raw::random_values(&Uint8Array::new_with_length(N as u32)).copy_to(&mut bytes);
    bytes
}
