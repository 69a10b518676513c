//! Records: what somebody said of a case, as it is journalled.
//!
//! ```text
//! version     1 byte, 1
//! verb        1 byte
//! reporter    4 bytes
//! weight      1 byte: the reporter's points then
//! time        8 bytes: seconds since the Unix epoch, by the ledger's clock
//! count       8 bytes: of a forget, the seen count that later answers subtract; else 0
//! signatures  4 bytes: how many bytes of them, then they (see `signature`)
//! befores     for each key of the case, in order, 2 bytes: the reporter's opinion before (128 added where this
//!             record is beyond the limit of raw totals, 64 where it is void on this key), and what it weighed. Of an
//!             unprotect: on a signature, ham where other messages still protect it; on a shingle, what is taken back
//! ```
//!
//! Numbers have their lowest byte first. A signature has one key, `near1` and `rspamd-near` one for each shingle. With
//! the opinion before beside the new one a record says all that it changes, so the tally of a snapshot is brought up to
//! date by the records after it alone.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use seenit_signature::near::SHINGLES;

use crate::error::SignatureError;
use crate::reporter::{REMOTE_MAX, ReporterId};
use crate::signature::Case;
use crate::trust::{POINTS_MAX, shingle_units};

/// What is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// It is spam.
    Report,
    /// It is good mail.
    Revoke,
    /// The reporter's own opinion is taken back.
    Withdraw,
    /// It is known to be good, whatever anybody reports.
    Protect,
    /// That is taken back.
    Unprotect,
    /// So many recipients saw it that it is bulk.
    Promote,
    /// It is bulk beyond counting.
    Many,
    /// Its seen count begins anew.
    Forget,
}

impl Verb {
    const ALL: [Verb; 8] = [
        Verb::Report,
        Verb::Revoke,
        Verb::Withdraw,
        Verb::Protect,
        Verb::Unprotect,
        Verb::Promote,
        Verb::Many,
        Verb::Forget,
    ];

    /// How it is spelt, everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Verb::Report => "report",
            Verb::Revoke => "revoke",
            Verb::Withdraw => "withdraw",
            Verb::Protect => "protect",
            Verb::Unprotect => "unprotect",
            Verb::Promote => "promote",
            Verb::Many => "many",
            Verb::Forget => "forget",
        }
    }

    /// Its number in records.
    pub fn code(self) -> u8 {
        Verb::ALL.iter().position(|verb| *verb == self).map_or(0, |position| position as u8 + 1)
    }

    /// The verb with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        Verb::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// Whether it may add a signature to the tally; what only takes something back adds none.
    pub(crate) fn adds(self) -> bool {
        !matches!(self, Verb::Withdraw | Verb::Unprotect)
    }
}

/// The name of a record for good: which site, which incarnation of its folder, and its ordinal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId {
    /// The first half of the site's public key; all of it is in the folder's identity.
    pub site: u128,
    /// One incarnation of the data folder.
    pub incarnation: u64,
    /// Counted from 1.
    pub number: u64,
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}-{:x}-{}", self.site, self.incarnation, self.number)
    }
}

/// Text that is no record's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no record: a record is written SITE-INCARNATION-NUMBER")]
pub struct NotARecord(String);

impl FromStr for RecordId {
    type Err = NotARecord;

    fn from_str(text: &str) -> Result<Self, NotARecord> {
        let parse = || {
            let mut parts = text.split('-');
            let site = u128::from_str_radix(parts.next()?, 16).ok()?;
            let incarnation = u64::from_str_radix(parts.next()?, 16).ok()?;
            let number = parts.next()?.parse().ok()?;
            parts.next().is_none().then_some(RecordId { site, incarnation, number })
        };
        // Only the one spelling: "+1" and upper case name nothing.
        parse()
            .filter(|id| id.to_string() == text)
            .ok_or_else(|| NotARecord(text.chars().take(100).collect()))
    }
}

impl Serialize for RecordId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A reporter's opinion on one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Opinion {
    /// Nothing, or taken back.
    #[default]
    None,
    /// Spam.
    Spam,
    /// Good.
    Ham,
}

impl Opinion {
    /// What contradicts it.
    pub(crate) fn opposite(self) -> Self {
        match self {
            Opinion::None => Opinion::None,
            Opinion::Spam => Opinion::Ham,
            Opinion::Ham => Opinion::Spam,
        }
    }
}

impl Opinion {
    pub(crate) fn code(self) -> u8 {
        match self {
            Opinion::None => 0,
            Opinion::Spam => 1,
            Opinion::Ham => 2,
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        [Opinion::None, Opinion::Spam, Opinion::Ham].get(usize::from(code)).copied()
    }
}

/// An opinion and what it weighs: points of a signature, units of a shingle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WeighedOpinion {
    pub(crate) opinion: Opinion,
    pub(crate) weight: u8,
}

impl WeighedOpinion {
    pub(crate) const NONE: Self = WeighedOpinion { opinion: Opinion::None, weight: 0 };

    pub(crate) fn new(opinion: Opinion, weight: u8) -> Self {
        WeighedOpinion { opinion, weight }
    }

    /// What it weighs on one side.
    pub(crate) fn on(self, side: Opinion) -> u8 {
        if self.opinion == side { self.weight } else { 0 }
    }
}

/// A reporter's opinion on one key before a record, and what the record itself is worth on that key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// The opinion.
    pub opinion: Opinion,
    /// What it weighed: points of a signature, units of a shingle.
    pub weight: u8,
    /// Whether the record counts in raw totals.
    pub counted: bool,
    /// Whether the record weighs nothing on this key, whatever it weighs on others: the operator said the opposite, or
    /// the tally may count this very opinion already, from a record that was lost.
    pub void: bool,
}

/// What somebody said of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What.
    pub verb: Verb,
    /// Who.
    pub reporter: ReporterId,
    /// The points of the reporter then.
    pub weight: u8,
    /// When, in seconds since the Unix epoch.
    pub time: u64,
    /// Of a forget, the seen count that is subtracted from later answers.
    pub count: u64,
    /// Of what.
    pub case: Case,
    /// For each key of the case the reporter's opinion before.
    pub befores: Vec<Before>,
}

impl Before {
    pub(crate) fn weighed(&self) -> WeighedOpinion {
        WeighedOpinion::new(self.opinion, self.weight)
    }
}

/// Bytes that are no record, or none that a site may send.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// They end too early.
    #[error("a record is cut off")]
    Cut,
    /// Another version's.
    #[error("a record of version {0}: this program reads version {VERSION}")]
    Version(u8),
    /// A number nobody gave to a verb.
    #[error("a record with verb {0}")]
    Verb(u8),
    /// Its case.
    #[error(transparent)]
    Case(#[from] SignatureError),
    /// One byte where an opinion has two.
    #[error("a record with half an opinion at its end")]
    HalfOpinion,
    /// A number nobody gave to an opinion.
    #[error("a record with opinion {0}")]
    Opinion(u8),
    /// A number that no account of a site has.
    #[error("a record of reporter {0}: there are {REMOTE_MAX} at most")]
    Reporter(u32),
    /// More than anybody's opinion weighs.
    #[error("a record of {0} points: there are {POINTS_MAX} at most")]
    Points(u8),
    /// What only its own site knows.
    #[error("a record that says what it changed at its own site")]
    Changes,
    /// More than one count.
    #[error("a forget of {0} signatures: each has a count of its own")]
    Forget(usize),
}

const VERSION: u8 = 1;

/// The bit of an opinion that says: beyond the limit of raw totals.
const BEYOND: u8 = 0x80;

/// The bit of an opinion that says: the record is void on this key.
const VOID: u8 = 0x40;

impl Record {
    /// What it says of one of its keys, where the reporter said something else before.
    pub(crate) fn says_of(&self, is_shingle: bool, before: Before) -> WeighedOpinion {
        let weight = match is_shingle {
            _ if before.void => 0,
            true => self.shingle_units(),
            false => self.weight,
        };
        match self.verb {
            Verb::Report => WeighedOpinion::new(Opinion::Spam, weight),
            Verb::Revoke => WeighedOpinion::new(Opinion::Ham, weight),
            // Of a signature a protection is a mark; its shingles are good ones, by the weightiest who said so.
            Verb::Protect if is_shingle => {
                WeighedOpinion::new(Opinion::Ham, weight.max(before.weighed().on(Opinion::Ham)))
            }
            _ => WeighedOpinion::NONE,
        }
    }

    /// A record keeps the points of its reporter; what they are in units of shingles follows from them and from who it
    /// is.
    pub(crate) fn shingle_units(&self) -> u8 {
        shingle_units(self.reporter, self.weight)
    }

    /// Appends its bytes in the journal.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let signatures = self.case.bytes();
        bytes.extend([VERSION, self.verb.code()]);
        bytes.extend(self.reporter.0.to_le_bytes());
        bytes.push(self.weight);
        bytes.extend(self.time.to_le_bytes());
        bytes.extend(self.count.to_le_bytes());
        bytes.extend((signatures.len() as u32).to_le_bytes());
        bytes.extend(signatures);
        for before in &self.befores {
            let beyond = if before.counted { 0 } else { BEYOND };
            let void = if before.void { VOID } else { 0 };
            bytes.extend([before.opinion.code() | beyond | void, before.weight]);
        }
    }

    /// Reads a record.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut rest = bytes;
        let mut take = |count: usize| -> Result<&[u8], RecordError> {
            let (taken, after) = rest.split_at_checked(count).ok_or(RecordError::Cut)?;
            rest = after;
            Ok(taken)
        };
        let version = take(1)?[0];
        if version != VERSION {
            return Err(RecordError::Version(version));
        }
        let code = take(1)?[0];
        let verb = Verb::from_code(code).ok_or(RecordError::Verb(code))?;
        let reporter = ReporterId(u32::from_le_bytes(fixed(take(4)?)));
        let weight = take(1)?[0];
        let time = u64::from_le_bytes(fixed(take(8)?));
        let count = u64::from_le_bytes(fixed(take(8)?));
        let signature_bytes = u32::from_le_bytes(fixed(take(4)?)) as usize;
        let case = Case::decode(take(signature_bytes)?)?;
        let (pairs, []) = rest.as_chunks::<2>() else {
            return Err(RecordError::HalfOpinion);
        };
        let befores =
            pairs.iter().map(|&[opinion, weight]| match Opinion::from_code(opinion & !(BEYOND | VOID)) {
                Some(known) => {
                    let counted = opinion & BEYOND == 0;
                    let void = opinion & VOID != 0;
                    Ok(Before { opinion: known, weight, counted, void })
                }
                None => Err(RecordError::Opinion(opinion)),
            });
        let befores = befores.collect::<Result<_, _>>()?;
        Ok(Record { verb, reporter, weight, time, count, case, befores })
    }

    /// Its bytes as other sites get them: what was said. What it changed here is nobody else's business.
    pub fn travelling(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let record = match self.verb {
            Verb::Unprotect => self.of_unprotected(),
            _ => self.without_void(),
        };
        Record { count: 0, befores: Vec::new(), ..record }.encode(&mut bytes);
        bytes
    }

    /// What it says of signatures on which it weighs something here; where there are none, of all of them, with no
    /// weight. Other sites do not hear from us what our operator contradicts.
    fn without_void(self) -> Self {
        if !self.befores.iter().any(|before| before.void) {
            return self;
        }
        let mut believed = Case::new();
        let mut befores = self.befores.iter();
        for signature in self.case.iter() {
            let keys = if signature.kind().is_near() { SHINGLES } else { 1 };
            // All of them are read, so that the next signature finds its own.
            if befores.by_ref().take(keys).filter(|before| before.void).count() == 0 {
                // It was in a case: it fits into one.
                let _ = believed.add(signature);
            }
        }
        match believed.is_empty() {
            true => Record { weight: 0, ..self },
            false => Record { case: believed, ..self },
        }
    }

    /// The end of a protection as it is true elsewhere: of the signatures that no message protects any more. Where
    /// others protect all of them, it is said once more that they are protected. Shingles may go along: other sites
    /// count a protected one and one that is protected no longer alike, as nothing.
    fn of_unprotected(self) -> Self {
        let mut ended = Case::new();
        let mut befores = self.befores.iter();
        for signature in self.case.iter() {
            let is_near = signature.kind().is_near();
            let before = befores.nth(if is_near { SHINGLES - 1 } else { 0 });
            if is_near || before.is_none_or(|before| before.opinion != Opinion::Ham) {
                // It was in a case: it fits into one.
                let _ = ended.add(signature);
            }
        }
        match ended.is_empty() {
            true => Record { verb: Verb::Protect, ..self },
            false => Record { case: ended, ..self },
        }
    }

    /// Reads a record of this site's own that others hold and this site has lost: it is its own reporter's. A
    /// protection comes back as a revocation: which messages it protects is lost.
    pub(crate) fn returned(bytes: &[u8]) -> Result<Self, RecordError> {
        let record = Record::heard(bytes, 1)?;
        Ok(Record { reporter: ReporterId(record.reporter.remote()), ..record })
    }

    /// Reads the record of a peer, as it is counted here: by a reporter under the peer's slot.
    pub fn heard(bytes: &[u8], slot: u16) -> Result<Self, RecordError> {
        let record = Record::decode(bytes)?;
        let remote = record.reporter.0;
        if remote >= REMOTE_MAX {
            return Err(RecordError::Reporter(remote));
        }
        if record.weight > POINTS_MAX {
            return Err(RecordError::Points(record.weight));
        }
        if record.count > 0 || !record.befores.is_empty() {
            return Err(RecordError::Changes);
        }
        if record.verb == Verb::Forget && record.case.len() != 1 {
            return Err(RecordError::Forget(record.case.len()));
        }
        let verb = match record.verb {
            // A veto holds at the site whose operator gave it.
            Verb::Protect => Verb::Revoke,
            Verb::Unprotect => Verb::Withdraw,
            verb => verb,
        };
        Ok(Record { verb, reporter: ReporterId::of_peer(slot, remote), ..record })
    }
}

fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|index| bytes[index])
}

#[cfg(test)]
mod tests {
    use super::*;
    use seenit_signature::Kind;

    fn encoded(record: &Record) -> Vec<u8> {
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        bytes
    }

    fn record() -> Record {
        let mut case = Case::new();
        case.push(Kind::RazorE8, &[1, 2, 3, 4, 5, 6, 7, 8]).expect("a digest");
        Record {
            verb: Verb::Revoke,
            reporter: ReporterId(258),
            weight: 7,
            time: 1_700_000_000,
            count: 0,
            case,
            befores: vec![Before { opinion: Opinion::Spam, weight: 5, counted: false, void: false }],
        }
    }

    #[test]
    fn the_bytes_of_a_record_are_these() {
        let golden = [
            "01",                     // version
            "02",                     // revoke
            "02010000",               // reporter 258
            "07",                     // weight
            "00f1536500000000",       // time
            "0000000000000000",       // count
            "0b000000",               // bytes of signatures
            "0708000102030405060708", // razor-e8, 8 bytes
            "8105",                   // was spam, 5 points; beyond the raw limit
        ];
        let bytes = encoded(&record());
        assert_eq!(hex::encode(&bytes), golden.concat());
        assert_eq!(Record::decode(&bytes), Ok(record()));
    }

    #[test]
    fn every_cut_and_every_foreign_byte_is_an_error_or_another_record() {
        let bytes = encoded(&record());
        for end in 0..bytes.len() {
            if let Ok(other) = Record::decode(&bytes[..end]) {
                assert_ne!(other, record());
            }
        }
        for index in 0..bytes.len() {
            let mut other = bytes.clone();
            other[index] ^= 0x5a;
            assert_ne!(Record::decode(&other), Ok(record()));
        }
    }

    #[test]
    fn a_record_travels_without_what_it_changed_and_is_read_under_a_slot() {
        let bytes = record().travelling();
        let here = Record::heard(&bytes, 3).expect("a record");
        let said = Record { reporter: ReporterId(3 << 20 | 258), befores: Vec::new(), ..record() };
        assert_eq!(here, said);
        let protect = Record { verb: Verb::Protect, ..record() }.travelling();
        assert_eq!(Record::heard(&protect, 3).map(|record| record.verb), Ok(Verb::Revoke));
    }

    #[test]
    fn a_record_travels_without_the_signatures_on_which_it_is_void() {
        let before = |void| Before { void, ..Before::default() };
        let mut case = Case::new();
        case.push(Kind::Pyzor, &[7; 20]).expect("a digest");
        case.push(Kind::Near1, &[9; 8 * SHINGLES]).expect("shingles");
        case.push(Kind::Exact1, &[8; 20]).expect("a digest");
        let said = |pyzor, shingle, exact| {
            let mut befores = vec![before(pyzor)];
            befores.extend((0..SHINGLES).map(|slot| before(shingle && slot == 5)));
            befores.push(before(exact));
            let here = Record { case: case.clone(), befores, ..record() };
            assert_eq!(Record::decode(&encoded(&here)), Ok(here.clone()));
            let there = Record::heard(&here.travelling(), 3).expect("a record");
            (there.weight, there.case.iter().map(|one| one.kind()).collect::<Vec<_>>())
        };
        let all = vec![Kind::Pyzor, Kind::Near1, Kind::Exact1];
        assert_eq!(said(false, false, false), (7, all.clone()));
        assert_eq!(said(true, false, false), (7, vec![Kind::Near1, Kind::Exact1]));
        assert_eq!(said(false, true, true), (7, vec![Kind::Pyzor]));
        assert_eq!(said(true, true, true), (0, all), "nothing is left but that somebody said it");
    }

    #[test]
    fn a_record_that_no_site_may_send_cannot_be_read() {
        let heavy = Record { weight: POINTS_MAX + 1, befores: Vec::new(), ..record() };
        let mark = Record { reporter: ReporterId(REMOTE_MAX), befores: Vec::new(), ..record() };
        let counted = Record { count: 1, befores: Vec::new(), ..record() };
        let mut two = record().case;
        two.push(Kind::Pyzor, &[7; 20]).expect("a digest");
        let forget = Record { verb: Verb::Forget, case: two, befores: Vec::new(), ..record() };
        for wrong in [heavy, mark, counted, forget, record()] {
            assert!(Record::heard(&encoded(&wrong), 3).is_err(), "{wrong:?}");
        }
    }

    proptest::proptest! {
        /// A journal may hold anything after a disk went mad.
        #[test]
        fn any_bytes_are_a_record_or_an_error(bytes: Vec<u8>) {
            let mut bytes = bytes;
            let _ = Record::decode(&bytes);
            if let Some(version) = bytes.first_mut() {
                *version = VERSION;
            }
            if let Ok(record) = Record::decode(&bytes) {
                proptest::prop_assert_eq!(Record::decode(&encoded(&record)), Ok(record));
            }
            let _ = Record::heard(&bytes, 1);
            let _ = Case::decode(&bytes);
        }
    }

    #[test]
    fn names_of_records_lead_back_to_them() {
        let id = RecordId { site: 0xabc, incarnation: 17, number: 42 };
        assert_eq!(id.to_string(), "00000000000000000000000000000abc-11-42");
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", "abc-11-42", "00000000000000000000000000000ABC-11-42", "1-2-3-4", "-1-2-3"] {
            assert!(text.parse::<RecordId>().is_err(), "{text}");
        }
    }
}
