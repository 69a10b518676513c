//! Data folders of releases before the log of sightings, made new once.
//!
//! Seen counts lay as cells in snapshots and as gains of cells in the journal. Cells cannot become fingerprints, so
//! they are brought up to date once more and written to files of their own, `before-GENERATION-N.counts`, which are
//! added to counts until they are too old. The link's rows get their present keys; what it kept of peers' cells goes.
//!
//! A start that is cut off begins again: the mark that says that it is done is in the commit of the rows.

mod cells;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use seenit_filter::cells::SplitCells;
use seenit_filter::counting::Refined;
use seenit_filter::delta::{CountGain, Follower};
use seenit_filter::file::FileView;
use seenit_filter::{AnyLayout, HugePages};
use seenit_link::rows as link_rows;
use seenit_link::store::HeldStream;
use seenit_link::{Position, store::PeerSlot};
use seenit_sites::Digest;
use seenit_sites::chain::Chain;
use seenit_sites::message::{HEAD_BYTES, Stream};
use seenit_sites::number::{Incarnation, Sequence};

use crate::config::LedgerConfig;
use crate::error::OpenError;
use crate::identity::Identity;
use crate::journal::sightings::OwnStreamKey;
use crate::journal::{Journal, JournalBatch, JournalError};
use crate::memory::Memory;
use crate::private;
use crate::seen::Counts;
use crate::snapshot::{FILES, Snapshot, SnapshotError};
use cells::{Cells, OldIncarnation};

/// The mark in `meta` that says: this folder has a log of sightings.
const DONE: &str = "log_of_sightings";

/// The keyspace of gains.
const GAINS: &str = "seen";

/// The incarnation that the counts of all earlier ones belong to in a snapshot of version 1.
const EARLIER: u64 = 0;

/// Cells by incarnation and generation, each as its last gain left it.
type Followers = BTreeMap<OwnStreamKey, Follower<Refined, AnyLayout, SplitCells>>;

/// Makes a folder new, once; `now` is the present generation.
pub(crate) fn migrate(
    folder: &Path,
    config: &LedgerConfig,
    now: u64,
    identity: &Identity,
    journal: &Journal,
    recovery: &mut Vec<String>,
) -> Result<(), OpenError> {
    let gains = journal.old_keyspace(GAINS)?;
    if journal.number(DONE)?.is_none() {
        files(folder).into_iter().for_each(|(_, path)| drop(fs::remove_file(path)));
        let old = cells::incarnations(folder).map_err(|why| damaged(folder, why))?;
        let mut folding = Folding { followers: Followers::new(), old, config, identity, lost: None };
        let taken_in = folding.add_snapshot(folder);
        if let Some(gains) = &gains {
            folding.add_gains(gains, taken_in)?;
        }
        recovery.extend(folding.lost.take().map(|why| format!("seen counts are not complete: {why}")));
        let written = write_files(folder, folding.counts(), now + 1, config.seen_generations)?;
        if written > 0 {
            recovery.push(format!(
                "seen counts of an earlier release were taken over: {written} files are read until they are too old"
            ));
        }
        let mut batch = journal.batch();
        convert(journal, &mut batch)?;
        batch.number(DONE, 1);
        batch.commit()?;
    }
    gains.map_or(Ok(()), |gains| Ok(journal.drop_keyspace(gains)?))
}

fn damaged(folder: &Path, why: String) -> OpenError {
    OpenError::Damaged { path: folder.to_owned(), why: why.into() }
}

struct Folding<'a> {
    followers: Followers,
    old: Vec<OldIncarnation>,
    config: &'a LedgerConfig,
    identity: &'a Identity,
    /// What could not be taken over, in words.
    lost: Option<String>,
}

impl Folding<'_> {
    /// Takes the counts of the newest snapshot that is whole. Says in which incarnation it was taken.
    fn add_snapshot(&mut self, folder: &Path) -> Option<u64> {
        for name in FILES {
            // One that is damaged is put aside where tallies are read.
            let Ok(Some(snapshot)) = Snapshot::open(&folder.join(name)) else { continue };
            match of_snapshot(&snapshot) {
                Ok(counts) => {
                    let with = |one: Cut| {
                        let key = OwnStreamKey { incarnation: one.incarnation, generation: one.generation };
                        (key, Follower::new(one.counts, one.sequence))
                    };
                    self.followers = counts.into_iter().map(with).collect();
                    return Some(snapshot.head.incarnation);
                }
                Err(error) => self.lost = Some(format!("{name}: {error}")),
            }
        }
        None
    }

    fn add_gains(&mut self, gains: &fjall::Keyspace, taken_in: Option<u64>) -> Result<(), JournalError> {
        for item in gains.iter() {
            let (key, value) = item.into_inner()?;
            let number = |at: usize| Some(u64::from_be_bytes(key.get(at..at + 8)?.try_into().ok()?));
            let (Some(incarnation), Some(generation), Some(sequence)) = (number(0), number(8), number(16))
            else {
                continue;
            };
            // The snapshot has all that earlier incarnations counted.
            if taken_in.is_some_and(|taken_in| incarnation < taken_in) {
                continue;
            }
            if let Err(why) = self.add_gain(OwnStreamKey { incarnation, generation }, &value) {
                let what = format!("delta {sequence} of generation {generation}: {why}");
                self.lost = self.lost.take().or(Some(what));
            }
        }
        Ok(())
    }

    fn add_gain(&mut self, of: OwnStreamKey, bytes: &[u8]) -> Result<(), String> {
        if !self.followers.contains_key(&of) {
            let held = self.old.iter().find(|old| old.id == of.incarnation);
            let cells = held.map(|held| held.cells_at(of.generation)).transpose()?.flatten();
            let text = |error: seenit_filter::GeometryError| error.to_string();
            let cells = cells.map_or_else(|| Cells::private(self.config, self.identity.hash_key()), Ok);
            let empty = cells.and_then(|cells| cells.empty()).map_err(text)?;
            self.followers.insert(of, Follower::new(empty, 0));
        }
        let gain = CountGain::open(bytes).map_err(|error| error.to_string())?;
        let Some(follower) = self.followers.get_mut(&of) else { return Ok(()) };
        follower.apply(&gain).map(|_| ()).map_err(|error| error.to_string())
    }

    /// All counts, with their generations. Cells that the next incarnation went on counting in are in its own, once
    /// its first gain was journalled.
    fn counts(mut self) -> Vec<(u64, Counts)> {
        for pair in self.old.windows(2) {
            let [ended, next] = pair else { continue };
            let Some(generation) = ended.carried_over else { continue };
            let key = |incarnation| OwnStreamKey { incarnation, generation };
            let is_in_next = self.followers.get(&key(next.id)).is_some_and(|one| one.applied() > 0);
            if is_in_next {
                self.followers.remove(&key(ended.id));
            }
        }
        self.followers.into_iter().map(|(key, one)| (key.generation, one.into_counts())).collect()
    }
}

/// Cells of one incarnation and generation in a snapshot.
struct Cut {
    incarnation: u64,
    generation: u64,
    sequence: u64,
    counts: Counts,
}

/// The seen counts of a snapshot that has any.
fn of_snapshot(snapshot: &Snapshot) -> Result<Vec<Cut>, SnapshotError> {
    let head = &snapshot.head;
    let mut all = Vec::new();
    for of in &head.frozen {
        let incarnation = of.incarnation;
        let generation = of.generation;
        let sequence = of.sequence;
        all.push(Cut { incarnation, generation, sequence, counts: snapshot.frozen(of)? });
    }
    for &(generation, sequence) in &head.seen {
        let others = snapshot.others(generation)?;
        all.extend(others.map(|counts| Cut { incarnation: EARLIER, generation, sequence: 0, counts }));
        let incarnation = head.incarnation;
        let counts = snapshot.seen(generation)?;
        all.push(Cut { incarnation, generation, sequence, counts });
    }
    Ok(all)
}

/// Puts the seen counts of a snapshot into memory: an old one has them, and nobody counts on.
pub(crate) fn put_snapshot(
    memory: &Memory,
    snapshot: &Snapshot,
    identity: &Identity,
) -> Result<(), SnapshotError> {
    for Cut { generation, counts, .. } in of_snapshot(snapshot)? {
        if let Some(key) = identity.key_of(counts.fingerprint()) {
            memory.seen.put_before(generation, counts, key);
        }
    }
    Ok(())
}

/// Writes counts that are not too old, durably.
fn write_files(folder: &Path, counts: Vec<(u64, Counts)>, end: u64, kept: u64) -> Result<usize, OpenError> {
    let mut written = 0;
    for (generation, counts) in counts.into_iter().filter(|(generation, _)| generation + kept >= end) {
        let path = folder.join(format!("before-{generation}-{written}.counts"));
        let mut bytes = Vec::new();
        seenit_filter::file::write(&counts, &mut bytes).map_err(OpenError::file(&path))?;
        private::write(&path, &bytes)?;
        written += 1;
    }
    Ok(written)
}

/// The files of counts in a folder, by generation.
fn files(folder: &Path) -> Vec<(u64, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let file = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let (generation, _) =
            name.to_str()?.strip_prefix("before-")?.strip_suffix(".counts")?.split_once('-')?;
        Some((generation.parse().ok()?, entry.path()))
    };
    entries.filter_map(file).collect()
}

/// Reads the files of counts of generations that count.
pub(crate) fn load(folder: &Path, memory: &Memory, identity: &Identity, recovery: &mut Vec<String>) {
    for (generation, path) in files(folder).into_iter().filter(|(one, _)| memory.seen.counts_of(*one)) {
        match read_file(&path, identity) {
            Ok((counts, key)) => memory.seen.put_before(generation, counts, key),
            Err(why) => recovery.push(format!("seen counts are not complete: {}: {why}", path.display())),
        }
    }
}

fn read_file(path: &Path, identity: &Identity) -> Result<(Counts, [u8; 16]), String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let view = FileView::open(&bytes).map_err(|error| error.to_string())?;
    let counts: Counts = view.to_split(HugePages::Default).map_err(|error| error.to_string())?;
    let key = identity.key_of(counts.fingerprint()).ok_or("its hash key is none of this site's")?;
    Ok((counts, key))
}

/// Deletes the files of generations before another one.
pub(crate) fn forget_before(folder: &Path, oldest: u64) {
    for (_, path) in files(folder).into_iter().filter(|(generation, _)| *generation < oldest) {
        // What cannot be deleted is not read any more, and tried again with the next generation.
        let _ = fs::remove_file(path);
    }
}

/// Gives the link's rows their present keys, and deletes what is of cells.
fn convert(journal: &Journal, batch: &mut JournalBatch<'_>) -> Result<(), JournalError> {
    for first in [b'k', b'c', b'f', b'l', b'b'] {
        journal.link_rows(&[first], &[], &mut |key, value| {
            match converted(key, value) {
                Converted::Same => return true,
                Converted::Gone => {}
                Converted::To(new, value) => {
                    batch.link(&new, Some(&value));
                    // A position keeps its key.
                    if new == key {
                        return true;
                    }
                }
            }
            batch.link(key, None);
            true
        })?;
    }
    Ok(())
}

/// What becomes of a row.
enum Converted {
    Same,
    Gone,
    To(Vec<u8>, Vec<u8>),
}

fn converted(key: &[u8], value: &[u8]) -> Converted {
    let number = |at: usize| key.get(at..at + 8)?.try_into().ok().map(u64::from_be_bytes);
    let records = Stream::Records;
    let to =
        |key: Option<Vec<u8>>, value: Vec<u8>| key.map_or(Converted::Gone, |key| Converted::To(key, value));
    let stream = || {
        let slot = PeerSlot(u16::from_be_bytes(key.get(1..3)?.try_into().ok()?));
        let is_of_records = key.get(11) == Some(&1);
        is_of_records.then_some(HeldStream { slot, incarnation: Incarnation(number(3)?), stream: records })
    };
    match (key[0], key.len()) {
        (b'k', 17) => {
            let row = number(1).zip(number(9));
            let row = row.map(|(incarnation, at)| {
                link_rows::checkpoint(Incarnation(incarnation), records, Sequence(at))
            });
            to(row, value.to_vec())
        }
        (b'c', 9) => to(
            number(1).map(|incarnation| link_rows::confirmed(Incarnation(incarnation), records)),
            value.to_vec(),
        ),
        (b'f', 20) => match stream().zip(position(value)) {
            Some((stream, position)) => Converted::To(link_rows::position(&stream), position.encode()),
            None => Converted::Gone,
        },
        (b'l', 30) => {
            let row = stream().zip(number(20));
            to(row.map(|(stream, last)| link_rows::message(&stream, Sequence(last))), value.to_vec())
        }
        (b'k' | b'c', _) => Converted::Same,
        _ => Converted::Gone,
    }
}

/// How far a stream was: applied, four numbers of cells, the chain there, and the head that says so.
fn position(bytes: &[u8]) -> Option<Position> {
    let (numbers, rest) = bytes.split_at_checked(40)?;
    let (value, head) = rest.split_first_chunk::<32>()?;
    Some(Position {
        at: Chain {
            sequence: Sequence(u64::from_be_bytes(numbers[..8].try_into().ok()?)),
            value: Digest(*value),
        },
        head: (head.len() == HEAD_BYTES).then(|| head.to_vec()),
        uncounted: 0,
        uncounted_last: Sequence::START,
    })
}
