//! Opening seen counts: those of the snapshot, brought up to date by the deltas after it, life by life of the folder.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use seenit_filter::cells::Cells;

use crate::error::OpenError;
use crate::identity::{Identity, Incarnation};
use crate::journal::{Journal, JournalError};
use crate::memory::Memory;
use crate::open::rows;
use crate::seen::Catching;
use crate::snapshot::{FrozenOf, Snapshot, SnapshotError};
use crate::terms::Counts;

/// The life that the counts of all earlier ones belong to in a snapshot of version 1.
const EARLIER: u64 = 0;

/// The life some of whose deltas were forgotten because two snapshots had them.
pub(crate) const FORGOTTEN_IN: &str = "deltas_forgotten_in";

/// Puts the counts of a snapshot into memory, in the life that it was taken in.
pub(crate) fn restore_seen(
    memory: &Memory,
    snapshot: &Snapshot,
    identity: &Identity,
) -> Result<(), SnapshotError> {
    let head = &snapshot.head;
    memory.seen.begin(life(identity, head.incarnation), None)?;
    for of in &head.frozen {
        put_frozen(memory, of, snapshot.frozen(of)?, identity)?;
    }
    for &(generation, sequence) in &head.seen {
        let others = snapshot.others(generation)?.filter(|others| !is_empty(others));
        if let Some(others) = others {
            let of = FrozenOf { incarnation: EARLIER, generation, sequence: 0, shared: false };
            put_frozen(memory, &of, others, identity)?;
        }
        memory.seen.put_own(generation, snapshot.seen(generation)?, sequence)?;
    }
    Ok(())
}

/// The life with a number. One that the identity does not know was private: the identity is an older copy.
fn life(identity: &Identity, id: u64) -> Incarnation {
    identity.life(id).cloned().unwrap_or_else(|| Incarnation::private(id, 1))
}

fn put_frozen(
    memory: &Memory,
    of: &FrozenOf,
    counts: Counts,
    identity: &Identity,
) -> Result<(), SnapshotError> {
    let (incarnation, generation) = (of.incarnation, of.generation);
    let hash_key = identity.key_of(counts.fingerprint()).ok_or_else(|| {
        let what = format!("generation {generation} of incarnation {incarnation}");
        SnapshotError::Damaged(format!("its seen counts of {what} have a hash key that nobody knows"))
    })?;
    memory.seen.put_frozen(generation, (incarnation, of.shared), (counts, hash_key), of.sequence);
    Ok(())
}

fn is_empty(counts: &Counts) -> bool {
    let mut is_empty = true;
    counts.cells().for_each_nonzero(|_, _| is_empty = false);
    is_empty
}

/// Brings seen counts up to date. `taken_in` is the life of the snapshot that they come from. What was counted in an
/// earlier life than the present one is frozen, but for what the life after it took over: its own deltas have that, or,
/// where it was cut off before the first of them, it takes it over again. Says whether deltas of the present life are
/// missing: then it must not go on, since it would give their numbers to others.
pub(crate) fn seen(
    memory: &Memory,
    taken_in: Option<u64>,
    identity: &Identity,
    journal: &Journal,
    now: u64,
    recovery: &mut Vec<String>,
) -> Result<bool, OpenError> {
    let present = identity.incarnation().id;
    let forgotten_in = journal.number(FORGOTTEN_IN).map_err(rows)?;
    let mut catch_up = |life: u64| {
        let mut lost = catch_up_seen(memory, life, journal, now)?;
        if taken_in.is_none() && forgotten_in == Some(life) {
            lost = lost.or(Some("there are deltas that only snapshots had".into()));
        }
        if life > present {
            lost =
                lost.or(Some(format!("the identity does not know incarnation {life}: it is an older copy")));
        }
        let is_incomplete = lost.is_some();
        recovery.extend(lost.map(|why| format!("seen counts are not complete: {why}")));
        Ok::<bool, OpenError>(is_incomplete)
    };
    let mut is_incomplete = taken_in.map_or(Ok(false), &mut catch_up)?;
    let is_counted = |life: &Incarnation| taken_in.is_none_or(|known| life.id >= known);
    let mut before: Option<&Incarnation> = None;
    for life in identity.incarnations().iter().filter(|life| is_counted(life)) {
        if taken_in != Some(life.id) {
            memory.seen.begin(life.clone(), before.and_then(|before| before.carried_over))?;
            is_incomplete = catch_up(life.id)?;
        }
        before = Some(life);
    }
    Ok(is_incomplete)
}

/// Applies the deltas of one life of the folder. Says what could not be applied.
fn catch_up_seen(
    memory: &Memory,
    incarnation: u64,
    journal: &Journal,
    now: u64,
) -> Result<Option<String>, OpenError> {
    let (mut catching, mut lost) = (BTreeMap::new(), None);
    let read = journal.each_delta(incarnation, |generation, sequence, bytes| {
        if generation > now {
            return Ok(());
        }
        let follower = match catching.entry(generation) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let own = memory.seen.taken(generation);
                let (own, sequence) = own.map_err(|error| JournalError::Rows(error.to_string()))?;
                entry.insert(Catching::new(own, sequence))
            }
        };
        if let Err(why) = follower.apply(bytes) {
            lost = lost.take().or(Some(format!("delta {sequence} of generation {generation}: {why}")));
        }
        Ok(())
    });
    read.map_err(rows)?;
    for (generation, follower) in catching {
        let (own, sequence) = follower.finish();
        memory.seen.put_own(generation, own, sequence)?;
    }
    Ok(lost)
}
