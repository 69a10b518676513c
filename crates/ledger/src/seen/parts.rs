//! What counts of a generation are made of: cells that are counted in, those of others, and those of earlier lives.

use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use seenit_filter::cells::SplitCells;
use seenit_filter::counting::{Count, Refined, SharedCountingFilter};
use seenit_filter::delta::CountGain;
use seenit_filter::hash::{Fingerprint, Hash128, SipKey};
use seenit_filter::{AnyLayout, GeometryError};

use super::room::{NoRoom, Room};
use crate::signature::SignatureRef;
use crate::terms::Counts;

pub(crate) type SharedCounts = SharedCountingFilter<Refined, AnyLayout, SplitCells>;

/// The hash key of cells. `None` is the ledger's own, under which a signature is hashed anyway.
#[derive(Clone)]
pub(crate) struct Under(Option<(SipKey, Fingerprint)>);

impl Under {
    pub(crate) fn new(hash_key: [u8; 16], own: [u8; 16]) -> Self {
        let sip = (hash_key != own).then(|| SipKey::new(hash_key));
        Under(sip.map(|sip| (sip.clone(), sip.fingerprint())))
    }
}

/// A signature under the ledger's own key, and under the last other one that was asked for: parts of one key follow
/// each other.
pub(crate) struct Hashes<'a> {
    signature: SignatureRef<'a>,
    own: Hash128,
    other: Option<(Fingerprint, Hash128)>,
}

impl<'a> Hashes<'a> {
    pub(crate) fn new(signature: SignatureRef<'a>, own: Hash128) -> Self {
        Hashes { signature, own, other: None }
    }

    #[inline]
    pub(crate) fn under(&mut self, key: &Under) -> Hash128 {
        match (&key.0, self.other) {
            (None, _) => self.own,
            (Some((_, asked)), Some((known, hash))) if *asked == known => hash,
            (Some((sip, asked)), _) => {
                let hash = sip.hash_bytes(self.signature.bytes());
                self.other = Some((*asked, hash));
                hash
            }
        }
    }
}

/// One generation of seen counts. What is in it can be shared: a change of parts makes another one.
#[derive(Clone)]
pub(crate) struct Generation {
    /// The key of own cells and of others'.
    pub(crate) under: Under,
    /// Whether own cells are told to a network.
    pub(crate) is_shared: bool,
    /// Cells that the present life counts in; none in a generation that was over when it began.
    pub(crate) live: Option<Arc<Live>>,
    /// The sum of what the sites of the network were told; none until the link has anything.
    pub(crate) others: Option<Arc<SharedCounts>>,
    /// What earlier lives of this folder were told.
    pub(crate) frozen: Vec<Arc<Frozen>>,
}

impl Generation {
    pub(crate) fn new(under: Under, is_shared: bool) -> Self {
        Generation { under, is_shared, live: None, others: None, frozen: Vec::new() }
    }

    /// Whether there are cells of the present life's terms.
    pub(crate) fn has_cells(&self) -> bool {
        self.live.is_some() || self.others.is_some()
    }

    /// Whether any part counts a hash.
    pub(crate) fn is_counted(&self, hash: Hash128) -> bool {
        let is = |counts: &SharedCounts| counts.count(hash).value > 0;
        self.live.as_ref().is_some_and(|live| is(&live.own))
            || self.others.as_ref().is_some_and(|others| is(others))
            || self.frozen.iter().any(|part| is(&part.counts))
    }

    /// Adds recipients that got the signature in this generation; never below the truth.
    #[inline]
    pub(crate) fn count(&self, hashes: &mut Hashes<'_>, sum: &mut Count) {
        let hash = hashes.under(&self.under);
        if let Some(live) = &self.live {
            add(sum, live.own.count(hash));
        }
        if let Some(others) = &self.others {
            add(sum, others.count(hash));
        }
        for part in &self.frozen {
            add(sum, part.counts.count(hashes.under(&part.under)));
        }
    }
}

fn add(sum: &mut Count, count: Count) {
    sum.value = sum.value.saturating_add(count.value);
    sum.saturated |= count.saturated;
}

/// Cells that are counted in.
pub(crate) struct Live {
    pub(crate) own: Arc<SharedCounts>,
    /// Own cells as the last delta left them, and its number.
    journalled: Mutex<(Counts, u64)>,
    /// That number again, for those who must not wait for somebody who looks at the cells.
    sequence: AtomicU64,
    /// Something was counted since.
    pub(crate) changed: AtomicBool,
    /// What own cells hold.
    pub(crate) room: Arc<Room>,
}

impl Live {
    pub(crate) fn new(own: Counts, sequence: u64) -> Result<Self, GeometryError> {
        let room = Arc::new(Room::of(&own)?);
        let own = own.share();
        let journalled = Mutex::new((own.snapshot()?, sequence));
        let (sequence, changed) = (sequence.into(), AtomicBool::new(false));
        Ok(Live { own: Arc::new(own), journalled, sequence, changed, room })
    }

    /// The same cells in another life, which has told nothing of them yet. They stay the very same: refined insertion
    /// loses counts where cells are added to each other one by one while somebody inserts.
    pub(crate) fn carried_over(&self, nothing: Counts) -> Self {
        let (own, changed) = (Arc::clone(&self.own), AtomicBool::new(self.is_touched()));
        let room = Arc::clone(&self.room);
        Live { own, journalled: Mutex::new((nothing, 0)), sequence: 0.into(), changed, room }
    }

    /// A delta is durable.
    pub(crate) fn put_journalled(&self, state: Counts, sequence: u64) {
        *self.journalled() = (state, sequence);
        self.sequence.store(sequence, Release);
    }

    /// The number of the last delta.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence.load(Acquire)
    }

    pub(crate) fn journalled(&self) -> MutexGuard<'_, (Counts, u64)> {
        self.journalled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is room for so many more of a signature.
    pub(crate) fn check(&self, hash: Hash128, recipients: u64) -> Result<(), NoRoom> {
        self.room.check(self.own.count(hash).value, recipients).inspect_err(|_| self.room.note_refused())
    }

    /// Counts so many more, where there is room for them.
    pub(crate) fn add(&self, hash: Hash128, recipients: u64) -> Result<(), NoRoom> {
        let before = self.own.count(hash).value;
        self.room.check(before, recipients).inspect_err(|_| self.room.note_refused())?;
        self.own.insert_weighted(hash, recipients);
        self.room.note(before, recipients);
        self.changed.store(true, Release);
        Ok(())
    }

    /// Whether anything was ever counted in them.
    pub(crate) fn is_touched(&self) -> bool {
        self.changed.load(Acquire) || self.sequence() > 0
    }

    /// What they gained since the last delta.
    pub(crate) fn delta(&self, generation: u64) -> Result<Delta, String> {
        let state = self.own.snapshot().map_err(|error| error.to_string())?;
        let journalled = self.journalled();
        let sequence = journalled.1 + 1;
        let gain = CountGain::between(&journalled.0, &state, sequence).map_err(|error| error.to_string())?;
        let bytes = gain.bytes().to_vec();
        Ok(Delta { generation, sequence, bytes, state })
    }
}

/// A delta that is not yet journalled.
pub(crate) struct Delta {
    pub(crate) generation: u64,
    pub(crate) sequence: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) state: Counts,
}

/// Cells of an earlier life, which nobody counts in any more.
pub(crate) struct Frozen {
    pub(crate) incarnation: u64,
    /// Whether they were told to a network, as delta `sequence` left them.
    pub(crate) is_shared: bool,
    pub(crate) sequence: u64,
    pub(crate) under: Under,
    pub(crate) counts: Arc<SharedCounts>,
}
