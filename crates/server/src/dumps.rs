//! No copy of the server's memory on a disk, and none for other processes of its user.
//!
//! The memory holds the keys that are in use. A core file would hold them for as long as it lies about, and a debugger
//! or a look at `/proc/PID/mem` needs no more than the same user: any other service that runs as it.

use std::io;

/// Keeps core files from being written and other processes of this user from looking in. Root still can.
///
/// On Linux this also gives the files of the process in `/proc` to root; `status`, `stat` and what else anybody may
/// read stay as they are. Elsewhere nothing is done.
pub fn refuse() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        // The kernel asks no more once it is not dumpable. The limit is for those that are started from here.
        setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    }
    Ok(())
}
