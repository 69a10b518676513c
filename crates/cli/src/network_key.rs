//! The hash key of a network, from a file; or the public key that keeps nobody out.

use std::fs;
use std::path::Path;

use seenit_filter::hash::SipKey;

use crate::problem::Problem;

/// Fewer bytes than the key itself has would be guessed sooner than it.
const SECRET_BYTES_MIN: usize = 16;

/// Reads a key file: any bytes, white space at the end aside. Without a file, the public key.
pub(crate) fn read(path: Option<&Path>) -> Result<SipKey, Problem> {
    let Some(path) = path else {
        return Ok(SipKey::public());
    };
    let secret = fs::read(path).map_err(Problem::input(path))?;
    let secret = secret.trim_ascii_end();
    if secret.len() < SECRET_BYTES_MIN {
        return Err(Problem::ShortKey {
            path: path.to_owned(),
            found: secret.len(),
            least: SECRET_BYTES_MIN,
        });
    }
    Ok(SipKey::derive(secret))
}
