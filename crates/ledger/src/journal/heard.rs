//! What the journal keeps of peers: their records, who they are, and what the link to them remembers.
//!
//! A record that was heard is kept under a serial number, the local count of all that was heard:
//!
//! ```text
//! slot         2 bytes
//! incarnation  8 bytes: of the peer's folder
//! sequence     8 bytes: its position among the records of that incarnation
//! counted      1 byte: 0 where it is counted, else why not (see `Uncounted`)
//! record       as it is counted here (see `record`): with own befores; one that is not counted as it came
//! ```
//!
//! Numbers have their highest byte first.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLockReadGuard};

use fjall::{Database, Keyspace, Readable};
use seenit_filter::hash::Hash128;

use super::{
    Journal, JournalBatch, JournalError, LinkNow, Row, RowKey, from_json, log_options, number_of, odd_row,
    record_of, to_json,
};
use crate::peers::table::Peers;
use crate::record::Record;

/// Where the table of peers lies in `meta`.
const PEERS: &str = "peers";

/// Where a record comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) slot: u16,
    pub(crate) incarnation: u64,
    pub(crate) sequence: u64,
}

/// Why a record is kept but not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uncounted {
    /// The peer has had its share of new signatures.
    Share,
    /// The tally is full.
    Full,
    /// It cannot be read, or nothing in it could be anybody's opinion.
    Unreadable,
}

impl Uncounted {
    pub(crate) const ALL: [Uncounted; 3] = [Uncounted::Share, Uncounted::Full, Uncounted::Unreadable];

    fn code(self) -> u8 {
        self as u8 + 1
    }
}

/// A record as it was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HeardBody {
    Counted(Record),
    /// As it came.
    Uncounted(Uncounted, Vec<u8>),
}

/// The keyspaces of what was heard, by generation.
pub(super) fn opened(database: &Database) -> Result<BTreeMap<u64, Keyspace>, fjall::Error> {
    let mut heard = BTreeMap::new();
    for name in database.list_keyspace_names() {
        if let Some(number) = name.strip_prefix("heard-").and_then(|number| number.parse().ok()) {
            heard.insert(number, database.keyspace(&name, log_options)?);
        }
    }
    Ok(heard)
}

impl Journal {
    fn heard_spaces(&self) -> RwLockReadGuard<'_, BTreeMap<u64, Keyspace>> {
        self.heard.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes all keyspaces of a generation that a peer's record needs, unless they are there.
    pub(crate) fn ensure_heard(&self, number: u64) -> Result<(), JournalError> {
        self.ensure(number)?;
        if !self.heard_spaces().contains_key(&number) {
            let made = self.database.keyspace(&format!("heard-{number}"), log_options)?;
            self.heard.write().unwrap_or_else(PoisonError::into_inner).insert(number, made);
        }
        Ok(())
    }

    pub(super) fn drop_heard(&self, number: u64) -> Result<(), JournalError> {
        let removed = self.heard.write().unwrap_or_else(PoisonError::into_inner).remove(&number);
        Ok(removed.map_or(Ok(()), |heard| self.database.delete_keyspace(heard))?)
    }

    /// Calls `visit` with every record of a generation that was heard, from a serial number on, in order.
    pub(crate) fn each_heard(
        &self,
        generation: u64,
        from: u64,
        mut visit: impl FnMut(u64, Origin, HeardBody) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let Some(heard) = self.heard_spaces().get(&generation).cloned() else {
            return Ok(());
        };
        for item in heard.range(from.to_be_bytes()..) {
            let (key, value) = item.into_inner()?;
            let serial = number_of(&key)?;
            let (origin, body) = decode(serial, &value)?;
            visit(serial, origin, body)?;
        }
        Ok(())
    }

    /// What was heard under a serial number.
    pub(crate) fn heard(&self, serial: u64) -> Result<Option<(Origin, HeardBody)>, JournalError> {
        for heard in self.heard_spaces().values().rev() {
            if let Some(bytes) = heard.get(serial.to_be_bytes())? {
                return decode(serial, &bytes).map(Some);
            }
        }
        Ok(None)
    }

    /// Whether a row is an own opinion that its reporter gave after an own record that came back only now.
    pub(crate) fn is_said_later(&self, row: &Row, returned: &Record) -> Result<bool, JournalError> {
        if row.number.returned_serial().is_some() {
            return Ok(false);
        }
        Ok(self.record(row.number)?.is_some_and(|(_, record)| record.time >= returned.time))
    }

    /// The serial number of what was heard last, dropped generations and removed peers included.
    pub(crate) fn last_heard(&self) -> Result<u64, JournalError> {
        let mut highest = self.number("heard")?.unwrap_or(0);
        for heard in self.heard_spaces().values() {
            if let Some(last) = heard.last_key_value() {
                highest = highest.max(number_of(&last.key()?)?);
            }
        }
        Ok(highest)
    }

    /// Calls `visit` with every bulk mark of this site and of peers that are believed, once for each generation.
    pub(crate) fn each_believed_bulk(
        &self,
        threshold: u64,
        mut visit: impl FnMut(u64, Hash128),
    ) -> Result<(), JournalError> {
        let peers = self.peers();
        let mut last = None;
        self.each_bulk(|generation, hash, slot| {
            // Marks of one signature follow each other.
            if peers.believes_bulk(slot, threshold) && last != Some((generation, hash)) {
                last = Some((generation, hash));
                visit(generation, hash);
            }
        })
    }

    /// The peers whose opinions count.
    pub(crate) fn peers(&self) -> Arc<Peers> {
        self.peers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on these peers' opinions count: memory is made right by whoever says so.
    pub(crate) fn count_peers(&self, peers: Arc<Peers>) {
        *self.peers.write().unwrap_or_else(PoisonError::into_inner) = peers;
    }

    /// Counts by the table of peers that is stored.
    pub(super) fn read_peers(&self) -> Result<(), JournalError> {
        if let Some(json) = self.meta.get(PEERS)? {
            self.count_peers(Arc::new(from_json("the peers", &json)?));
        }
        Ok(())
    }

    /// The first row of the link from a key on, among those that begin so.
    pub(crate) fn link_first(&self, prefix: &[u8], from: &[u8]) -> Result<Option<LinkRow>, JournalError> {
        self.link
            .range((Bound::Included(from.max(prefix).to_vec()), end_of(prefix)))
            .next()
            .map(row_of)
            .transpose()
    }

    /// The last row of the link up to a key, among those that begin so.
    pub(crate) fn link_last(&self, prefix: &[u8], to: &[u8]) -> Result<Option<LinkRow>, JournalError> {
        self.link.range(prefix.to_vec()..=to.to_vec()).next_back().map(row_of).transpose()
    }

    /// Calls `visit` with what the link keeps under keys that begin so, in order, until it says false.
    pub(crate) fn link_rows(
        &self,
        prefix: &[u8],
        from: &[u8],
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), JournalError> {
        for item in self.link.range((Bound::Included(from.max(prefix).to_vec()), end_of(prefix))) {
            let (key, value) = item.into_inner()?;
            if !visit(&key, &value) {
                break;
            }
        }
        Ok(())
    }
}

/// A key and what the link keeps under it.
pub(crate) type LinkRow = (Vec<u8>, Vec<u8>);

fn row_of(item: fjall::Guard) -> Result<LinkRow, JournalError> {
    let (key, value) = item.into_inner()?;
    Ok((key.to_vec(), value.to_vec()))
}

fn end_of(prefix: &[u8]) -> Bound<Vec<u8>> {
    after_all(prefix).map_or(Bound::Unbounded, Bound::Excluded)
}

impl LinkNow {
    /// Calls `visit` with what the link kept under keys that begin so, in order.
    pub(crate) fn each(
        &self,
        prefix: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        for item in self.snapshot.prefix(&self.link, prefix) {
            let (key, value) = item.into_inner()?;
            visit(&key, &value)?;
        }
        Ok(())
    }

    /// The first key from one on.
    pub(crate) fn first(&self, from: &[u8]) -> Result<Option<Vec<u8>>, JournalError> {
        let first = self.snapshot.range(&self.link, from.to_vec()..).next();
        first.map(|item| Ok(item.key()?.to_vec())).transpose()
    }
}

/// The first key after all that begin so; `None` where there is none.
pub(crate) fn after_all(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

impl JournalBatch<'_> {
    /// Keeps what was heard; the generation is there (see `ensure_heard`).
    pub(crate) fn heard(
        &mut self,
        generation: u64,
        serial: u64,
        origin: Origin,
        body: &HeardBody,
    ) -> Result<(), JournalError> {
        let heard = self.heard_space(generation)?;
        self.value.clear();
        self.value.extend(origin.slot.to_be_bytes());
        self.value.extend(origin.incarnation.to_be_bytes());
        self.value.extend(origin.sequence.to_be_bytes());
        match body {
            HeardBody::Counted(record) => {
                self.value.push(0);
                record.encode(&mut self.value);
            }
            HeardBody::Uncounted(why, bytes) => {
                self.value.push(why.code());
                self.value.extend(bytes);
            }
        }
        self.batch.insert(&heard, serial.to_be_bytes(), self.value.as_slice());
        Ok(())
    }

    pub(crate) fn remove_heard(&mut self, generation: u64, serial: u64) -> Result<(), JournalError> {
        let heard = self.heard_space(generation)?;
        self.batch.remove(&heard, serial.to_be_bytes());
        Ok(())
    }

    pub(crate) fn remove_row(&mut self, generation: u64, key: &RowKey) -> Result<(), JournalError> {
        let index = self.keyspaces(generation)?.index.clone();
        self.batch.remove(&index, *key);
        Ok(())
    }

    /// Keeps a value of the link, or deletes it.
    pub(crate) fn link(&mut self, key: &[u8], value: Option<&[u8]>) {
        match value {
            Some(value) => self.batch.insert(&self.journal.link, key, value),
            None => self.batch.remove(&self.journal.link, key),
        }
    }

    pub(crate) fn peers(&mut self, peers: &Peers) -> Result<(), JournalError> {
        let json = to_json("the peers", peers)?;
        self.batch.insert(&self.journal.meta, PEERS, json);
        Ok(())
    }

    fn heard_space(&mut self, generation: u64) -> Result<Keyspace, JournalError> {
        self.touched.insert(generation);
        let heard = self.journal.heard_spaces().get(&generation).cloned();
        heard.ok_or_else(|| JournalError::Rows(format!("nothing is heard in generation {generation}").into()))
    }
}

fn decode(serial: u64, bytes: &[u8]) -> Result<(Origin, HeardBody), JournalError> {
    let (slot, rest) = bytes.split_first_chunk::<2>().ok_or_else(odd_row)?;
    let (incarnation, rest) = rest.split_first_chunk::<8>().ok_or_else(odd_row)?;
    let (sequence, rest) = rest.split_first_chunk::<8>().ok_or_else(odd_row)?;
    let (&code, rest) = rest.split_first().ok_or_else(odd_row)?;
    let origin = Origin {
        slot: u16::from_be_bytes(*slot),
        incarnation: u64::from_be_bytes(*incarnation),
        sequence: u64::from_be_bytes(*sequence),
    };
    let body = match Uncounted::ALL.into_iter().find(|why| why.code() == code) {
        Some(why) => HeardBody::Uncounted(why, rest.to_vec()),
        None if code == 0 => HeardBody::Counted(record_of(serial, rest)?),
        None => return Err(odd_row()),
    };
    Ok((origin, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_from_before_there_were_peers_opens() {
        let folder = tempfile::tempdir().expect("a folder");
        {
            let database = Database::builder(folder.path()).open().expect("a store");
            for name in ["log-5", "index-5", "bulk", "seen", "reporters", "meta"] {
                database.keyspace(name, super::super::options).expect("a keyspace");
            }
        }
        let journal = Journal::open(folder.path()).expect("a journal");
        assert_eq!((journal.generations(), journal.last_heard().expect("readable")), (vec![5], 0));
        assert!(journal.peers().is_empty() && journal.link_first(b"key", b"").expect("readable").is_none());
        journal.ensure_heard(5).expect("made");
        let origin = Origin { slot: 3, incarnation: 4, sequence: 5 };
        let body = HeardBody::Uncounted(Uncounted::Full, vec![7]);
        let mut batch = journal.batch();
        batch.heard(5, 1, origin, &body).expect("staged");
        batch.commit().expect("durable");
        drop(journal);
        let journal = Journal::open(folder.path()).expect("a journal");
        assert_eq!(journal.last_heard().expect("readable"), 1);
        assert_eq!(journal.heard(1).expect("readable"), Some((origin, body)));
    }
}
