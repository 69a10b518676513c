//! Rows of the index: what a reporter said last of a key, in one generation.

use seenit_filter::hash::Hash128;
use seenit_signature::Kind;

use crate::record::{Opinion, WeighedOpinion};
use crate::reporter::ReporterId;

/// Bytes of an index key.
pub(crate) const ROW_KEY_BYTES: usize = 20;

/// The name of a row of the index.
pub(crate) type RowKey = [u8; ROW_KEY_BYTES];

/// The generation of what does not age: protections.
pub(crate) const LASTING: u64 = u64::MAX;

/// Whose opinion a protection is, in the index.
pub(crate) const PROTECTION: ReporterId = ReporterId(u32::MAX);
/// Whose opinion MANY is.
pub(crate) const MANY: ReporterId = ReporterId(u32::MAX - 1);
/// Whose opinion a forget is.
pub(crate) const FORGETTING: ReporterId = ReporterId(u32::MAX - 2);
/// Whose opinion it is that a whole message is protected: see `protection`.
pub(crate) const PROTECTED_MESSAGE: ReporterId = ReporterId(u32::MAX - 3);

/// What a row says that is nobody's opinion on a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkRow {
    Protection,
    Many,
    Forgetting,
    /// Of a whole message: it says nothing of a signature.
    ProtectedMessage,
}

/// Which mark the rows of a reporter are: none, where it is somebody's account. Peers' marks lie under their slots.
pub(crate) fn mark_row(reporter: ReporterId) -> Option<MarkRow> {
    match (reporter.slot(), reporter) {
        (None, PROTECTION) => Some(MarkRow::Protection),
        (None, MANY) => Some(MarkRow::Many),
        (None, FORGETTING) => Some(MarkRow::Forgetting),
        (None, PROTECTED_MESSAGE) => Some(MarkRow::ProtectedMessage),
        (Some(slot), _) if reporter == ReporterId::many_of(slot) => Some(MarkRow::Many),
        (Some(slot), _) if reporter == ReporterId::forgetting_of(slot) => Some(MarkRow::Forgetting),
        _ => None,
    }
}

/// Whether its rows are marks, and it is nobody's account.
pub(crate) fn is_mark(reporter: ReporterId) -> bool {
    mark_row(reporter).is_some()
}

/// A hash as the journal keeps it.
pub(crate) fn hash_bytes(hash: Hash128) -> [u8; 16] {
    (u128::from(hash.hi) << 64 | u128::from(hash.lo)).to_be_bytes()
}

/// The hash that these bytes keep.
pub(crate) fn hash_of(bytes: [u8; 16]) -> Hash128 {
    let bits = u128::from_be_bytes(bytes);
    Hash128 { hi: (bits >> 64) as u64, lo: bits as u64 }
}

/// The row of a reporter's opinion on a key.
pub(crate) fn row_key(hash: Hash128, reporter: ReporterId) -> RowKey {
    let mut key = [0; ROW_KEY_BYTES];
    key[..16].copy_from_slice(&hash_bytes(hash));
    key[16..].copy_from_slice(&reporter.0.to_be_bytes());
    key
}

pub(super) fn split_row_key(key: &[u8]) -> Option<(Hash128, ReporterId)> {
    let key: &RowKey = key.try_into().ok()?;
    let (hash, reporter) = key.split_at(16);
    Some((hash_of(hash.try_into().ok()?), ReporterId(u32::from_be_bytes(reporter.try_into().ok()?))))
}

/// The number of a record, as rows name it: of a record that was heard from a peer its serial number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RecordNumber(pub(crate) u64);

/// The bit that says: a record of this site's own that others held, by its serial number.
const RETURNED: u64 = 1 << 63;

impl RecordNumber {
    /// Of a record that was heard: own reporters' have other numbers than their records.
    pub(crate) fn of_heard(serial: u64, reporter: ReporterId) -> Self {
        RecordNumber(if reporter.slot().is_some() { serial } else { serial | RETURNED })
    }

    /// The serial number of an own record that came back, where it is one.
    pub(crate) fn returned_serial(self) -> Option<u64> {
        (self.0 & RETURNED != 0).then_some(self.0 & !RETURNED)
    }
}

/// A reporter's last opinion on a key in one generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) opinion: Opinion,
    /// Points of a signature, units of a shingle.
    pub(crate) weight: u8,
    /// Whether the key is a shingle, and counted in other filters than signatures.
    pub(crate) is_shingle: bool,
    /// Whether it is the first shingle of a text: texts are counted by it.
    pub(crate) is_text: bool,
    /// Whether it is one of rspamd's shingles.
    pub(crate) is_rspamd: bool,
    /// How often it said spam in this generation, up to the limit of raw totals.
    pub(crate) raw_spam: u16,
    /// How often it said ham.
    pub(crate) raw_ham: u16,
    /// The last record.
    pub(crate) number: RecordNumber,
    /// Of a forget: the seen count that is subtracted. Of a protection: the messages that protect the key.
    pub(crate) count: u64,
}

/// The bit of a row's opinion that says: a shingle.
const SHINGLE: u8 = 0x80;
/// And this one: the first of a text.
const TEXT: u8 = 0x40;
/// And this one: of rspamd's.
const RSPAMD: u8 = 0x20;

/// A row of a key, whose it is, and of which generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyRow {
    pub(crate) generation: u64,
    pub(crate) reporter: ReporterId,
    pub(crate) row: Row,
}

impl Row {
    pub(crate) fn weighed(&self) -> WeighedOpinion {
        WeighedOpinion::new(self.opinion, self.weight)
    }

    /// The kind of the texts that it is a shingle of.
    pub(crate) fn shingle_kind(&self) -> Kind {
        if self.is_rspamd { Kind::RspamdNear } else { Kind::Near1 }
    }

    /// Appends opinion, weight, raw totals, number; and the count where there is one.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        let bits = [(self.is_shingle, SHINGLE), (self.is_text, TEXT), (self.is_rspamd, RSPAMD)];
        let bits = bits.iter().filter(|(is_set, _)| *is_set).fold(0, |bits, (_, bit)| bits | bit);
        bytes.extend([self.opinion.code() | bits, self.weight]);
        bytes.extend(self.raw_spam.to_le_bytes());
        bytes.extend(self.raw_ham.to_le_bytes());
        bytes.extend(self.number.0.to_le_bytes());
        if self.count > 0 {
            bytes.extend(self.count.to_le_bytes());
        }
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, count) = bytes.split_first_chunk::<14>()?;
        let u16_at = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        Some(Row {
            opinion: Opinion::from_code(head[0] & !(SHINGLE | TEXT | RSPAMD))?,
            weight: head[1],
            is_shingle: head[0] & SHINGLE != 0,
            is_text: head[0] & TEXT != 0,
            is_rspamd: head[0] & RSPAMD != 0,
            raw_spam: u16_at(2),
            raw_ham: u16_at(4),
            number: RecordNumber(u64::from_le_bytes(head[6..].try_into().ok()?)),
            count: if count.is_empty() { 0 } else { u64::from_le_bytes(count.try_into().ok()?) },
        })
    }
}
