//! Heartbeats: a site is alive, how far its own streams are, and how far it is with those of others.
//!
//! The first is what others compare their copies with; the second is what receipts are made of, and says who can help
//! whom with the streams of a site that is silent.

use crate::digest::Digest;
use crate::error::{FormatError, at_most};
use crate::form::{Field, Reader, Tag, form};
use crate::key::{AdminKey, KEY_BYTES, SIGNATURE_BYTES, SiteKey, SiteSecret};
use crate::message::{HEAD_BYTES, Head, Stream, StreamId};
use crate::number::{Incarnation, Sequence};
use crate::roster::Roster;

pub(crate) const TAG: Tag = *b"seenit heartbeat v2 ";

/// The most heads of a heartbeat: records and more generations than any site counts in. A site that has more, in many
/// incarnations, sends them in turn.
pub const HEADS_MAX: usize = 64;

/// The most holdings of a heartbeat. A site that has more sends them in turn.
pub const HOLDINGS_MAX: usize = 256;

const HOLDING_BYTES: usize = KEY_BYTES + 8 + 1 + 8 + 4 * 8;

/// The largest heartbeat.
pub const HEARTBEAT_BYTES_MAX: usize = 20
    + 2 * KEY_BYTES
    + 24
    + 32
    + 2
    + HEADS_MAX * HEAD_BYTES
    + 2
    + HOLDINGS_MAX * HOLDING_BYTES
    + SIGNATURE_BYTES;

/// How far a site is with a stream. It proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Which stream.
    pub id: StreamId,
    /// The last item that it has applied.
    pub sequence: Sequence,
    /// The beginning of the chain's value there: whoever said the items sees whether they are its own.
    pub value: [u8; 8],
    /// Of records: how many of them it keeps without counting them.
    pub uncounted: u64,
    /// The last of those; 0 where there are none.
    pub uncounted_last: Sequence,
}

form!(Holding { id, sequence, value, uncounted, uncounted_last });

/// A heartbeat, checked in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// Who.
    pub site: SiteKey,
    /// The present incarnation of its data folder.
    pub incarnation: Incarnation,
    /// Rises from heartbeat to heartbeat of one incarnation, whatever happens to the clock: an old one that is sent
    /// again is no sign of life.
    pub number: u64,
    /// When, by its own clock.
    pub time_secs: u64,
    /// The digest of its newest snapshot's manifest; zeros where there is none.
    pub snapshot: Digest,
    /// Heads alone of its own streams.
    pub heads: Vec<Head>,
    /// How far it is with others.
    pub holdings: Vec<Holding>,
}

impl Heartbeat {
    /// Its bytes, signed.
    pub fn sign(&self, site: &SiteSecret, network: &AdminKey) -> Result<Vec<u8>, FormatError> {
        at_most("heads", self.heads.len(), HEADS_MAX)?;
        at_most("holdings", self.holdings.len(), HOLDINGS_MAX)?;
        let mut bytes = TAG.to_vec();
        network.write(&mut bytes);
        site.public().write(&mut bytes);
        self.incarnation.write(&mut bytes);
        self.number.write(&mut bytes);
        self.time_secs.write(&mut bytes);
        self.snapshot.write(&mut bytes);
        (self.heads.len() as u16).write(&mut bytes);
        self.heads.iter().for_each(|head| bytes.extend(head.bytes()));
        (self.holdings.len() as u16).write(&mut bytes);
        for holding in &self.holdings {
            holding.check()?;
            holding.write(&mut bytes);
        }
        site.sign(&mut bytes);
        Ok(bytes)
    }

    /// Reads a heartbeat of a member of this roster.
    pub fn decode(bytes: &[u8], roster: &Roster) -> Result<Self, FormatError> {
        let mut rest = Reader::new(bytes, &TAG, HEARTBEAT_BYTES_MAX)?.of_members(roster);
        rest.get::<AdminKey>()?;
        let site: SiteKey = rest.get()?;
        rest.signed_by(&site)?;
        let mut heartbeat = Heartbeat {
            site,
            incarnation: rest.get()?,
            number: rest.get()?,
            time_secs: rest.get()?,
            snapshot: rest.get()?,
            heads: Vec::new(),
            holdings: Vec::new(),
        };
        let heads = rest.get::<u16>()?.into();
        at_most("heads", heads, HEADS_MAX)?;
        for _ in 0..heads {
            // The heartbeat is signed as a whole by the same site: a head is checked by itself before it is handed on.
            let head = Head::reread(rest.run(HEAD_BYTES)?, roster)?;
            if head.id.site != site || !head.is_alone() {
                return Err(FormatError::OtherSite);
            }
            heartbeat.heads.push(head);
        }
        let holdings = rest.get::<u16>()?.into();
        at_most("holdings", holdings, HOLDINGS_MAX)?;
        for _ in 0..holdings {
            let mut holding = Reader::untagged(rest.run(HOLDING_BYTES)?).of_members(roster);
            match holding.get::<Holding>() {
                Ok(holding) => {
                    holding.check()?;
                    heartbeat.holdings.push(holding);
                }
                // Somebody whose roster is older or newer than ours may hold what we do not know of.
                Err(FormatError::NoMember(_)) => {}
                Err(error) => return Err(error),
            }
        }
        rest.end()?;
        Ok(heartbeat)
    }
}

impl Holding {
    /// The last uncounted item is among those that are held, and so are as many as there are.
    fn check(&self) -> Result<(), FormatError> {
        self.sequence.check()?;
        let (Sequence(sequence), Sequence(last), uncounted) =
            (self.sequence, self.uncounted_last, self.uncounted);
        let is_none = uncounted == 0 && last == 0;
        let is_some = self.id.stream == Stream::Records && uncounted > 0;
        match is_none || is_some && uncounted <= last && last <= sequence {
            true => Ok(()),
            false => Err(FormatError::Uncounted { uncounted, last, sequence }),
        }
    }
}
