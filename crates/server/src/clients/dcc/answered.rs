//! Requests that were answered a moment ago: a client that missed the answer gets it again, and nothing counts twice.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lru::LruCache;
use seenit_wire::dcc::{RETRANSMISSION_SECS_MAX, Request, SUMS_MAX, Totals};

use crate::network::plain;

/// How long a client repeats itself.
const KEPT: Duration = Duration::from_secs(RETRANSMISSION_SECS_MAX as u64);

/// Requests that are remembered, at some 250 bytes each: 2,000 reports a second for as long as clients repeat them.
const REQUESTS_MAX: NonZeroUsize = NonZeroUsize::new(1 << 16).expect("not zero");

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Earlier {
    /// Nothing yet: the answer comes.
    UnderWay,
    /// Its totals were said.
    Totals([Totals; SUMS_MAX]),
    /// It was obeyed.
    Done,
}

/// A request by what its retransmissions have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Which(u64);

/// Requests that were answered a moment ago.
pub(super) struct Answered {
    hasher: RandomState,
    requests: Mutex<LruCache<Which, (Instant, Earlier)>>,
}

impl Answered {
    pub(super) fn new() -> Self {
        Answered { hasher: RandomState::new(), requests: Mutex::new(LruCache::new(REQUESTS_MAX)) }
    }

    /// The name of a request. A client's second transmission comes from another port.
    pub(super) fn which(&self, request: &Request<'_>, from: IpAddr) -> Which {
        Which(self.hasher.hash_one((plain(from), request.retransmission())))
    }

    /// What became of this request when it came before; else it is under way from now on.
    pub(super) fn begin(&self, which: Which) -> Option<Earlier> {
        let mut requests = self.requests();
        let now = Instant::now();
        let known = requests.get(&which).filter(|(then, _)| now.duration_since(*then) < KEPT);
        if let Some((_, earlier)) = known {
            return Some(*earlier);
        }
        requests.put(which, (now, Earlier::UnderWay));
        None
    }

    /// A request got its answer.
    pub(super) fn end(&self, which: Which, how: Earlier) {
        self.requests().put(which, (Instant::now(), how));
    }

    /// A request failed: its retransmission is a new attempt.
    pub(super) fn fail(&self, which: Which) {
        self.requests().pop(&which);
    }

    fn requests(&self) -> MutexGuard<'_, LruCache<Which, (Instant, Earlier)>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
