//! The hash key of a network, from a file; or the public key that keeps nobody out.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use seenit_filter::hash::SipKey;

use crate::problem::Problem;

/// Fewer bytes than the key itself has would be guessed sooner than it.
const SECRET_BYTES_MIN: usize = 16;
/// More bytes are no key but the wrong file.
const SECRET_BYTES_MAX: usize = 64 * 1024;

/// Reads a key file: any bytes, a newline at the end aside. Without a file, the public key.
pub(crate) fn read(path: Option<&Path>) -> Result<SipKey, Problem> {
    let Some(path) = path else { return Ok(SipKey::public()) };
    let mut secret = Vec::new();
    let file = File::open(path).map_err(Problem::input(path))?;
    file.take(SECRET_BYTES_MAX as u64 + 1).read_to_end(&mut secret).map_err(Problem::input(path))?;
    let secret = secret.strip_suffix(b"\n").unwrap_or(&secret);
    let secret = secret.strip_suffix(b"\r").unwrap_or(secret);
    if !(SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&secret.len()) {
        return Err(Problem::KeyLength {
            path: path.into(),
            least: SECRET_BYTES_MIN,
            most: SECRET_BYTES_MAX,
        });
    }
    Ok(SipKey::derive(secret))
}
