//! Descriptors of files: as many as the system lets the process have, and some of them kept back for the journal.
//!
//! A connection is a descriptor. If connections could take all of them, the journal could open no file, and no write
//! would be acknowledged.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::Http;
use crate::connections::Crowd;

/// Descriptors that connections never take: files of the journal (some dozens, more while it compacts), snapshots,
/// listeners, the link to other sites, and questions to the kernel.
const RESERVE: u64 = 256;

/// Connections of each kind that are served however few descriptors there are.
const CONNECTIONS_MIN: u64 = 16;

/// The descriptors that the process may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Descriptors(u64);

impl Descriptors {
    /// Raises the limit as far as the process may without asking anybody.
    pub(crate) fn raise() -> Self {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current != maximum {
            // What is refused stays as it was, which is what the next line reads.
            let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
        }
        Descriptors(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX))
    }

    /// Warns an operator who asks for more connections than there can be.
    pub(crate) fn warn_of_few(self, http: &Http) {
        let most = self.connections_max();
        if most < u64::from(http.connections_max) {
            tracing::warn!(
                limit = self.0,
                connections_max = most,
                "too few descriptors for http.connections_max: raise the limit (LimitNOFILE=, ulimit -n)"
            );
        }
    }

    /// The connections of HTTP, or those of Razor: each may have half of what is not kept back.
    pub(crate) fn crowd(self, http: &Http) -> Crowd {
        let most = u64::from(http.connections_max).min(self.connections_max());
        Crowd::new(most as usize, http.connections_per_network_max)
    }

    fn connections_max(self) -> u64 {
        (self.0.saturating_sub(RESERVE) / 2).max(CONNECTIONS_MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_share_what_the_journal_leaves() {
        let most = |limit| Descriptors(limit).connections_max();
        assert_eq!([most(1024), most(20_000), most(100)], [384, 9872, CONNECTIONS_MIN]);
        assert!(Descriptors::raise().0 > 0);
    }
}
