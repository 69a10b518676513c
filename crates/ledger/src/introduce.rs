//! Who a data folder is, for those who introduce it to a network.

use std::io;
use std::path::Path;

use zeroize::Zeroizing;

use crate::clock::Clock;
use crate::error::OpenError;
use crate::identity::{FolderLock, Identity};
use crate::private;

/// What the site of a folder signs with. A folder that is no site yet becomes one. A server may be running on it.
pub fn site_secret(folder: &Path, clock: &dyn Clock) -> Result<Zeroizing<[u8; 32]>, OpenError> {
    if folder.exists() {
        private::folder(folder)?;
    }
    match Identity::read(folder) {
        Err(OpenError::File { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
            private::folder(folder)?;
            let _lock = FolderLock::take(folder)?;
            Identity::open(folder, clock.now_secs()).map(|identity| identity.site_secret())
        }
        read => read.map(|identity| identity.site_secret()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;

    #[test]
    fn a_folder_is_one_site_for_good() {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        let secret = || site_secret(&data, &SystemClock::default()).expect("a site");
        let first = secret();
        let _lock = FolderLock::take(&data).expect("nobody else");
        assert_eq!(secret(), first, "though a server runs");
    }
}
