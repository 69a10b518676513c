//! What the link needs of a site's memory. The ledger fulfils it in a server; a double in memory, which loses what was
//! not synced, does in the simulation. The code between is the same.

use seenit_filter::AnyLayout;
use seenit_filter::cells::SplitCells;
use seenit_filter::counting::{CountingFilter, Refined};
use seenit_sites::manifest::{Geometry, HashKey};
use thiserror::Error;

/// Seen cells of one site and generation.
pub type Counts = CountingFilter<Refined, AnyLayout, SplitCells>;

/// The journal could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct JournalError(pub String);

/// How seen cells are kept from a generation on.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The first generation.
    pub first_generation: u64,
    /// Seconds of a generation.
    pub generation_secs: u64,
    /// What signatures are hashed with.
    pub hash_key: HashKey,
    /// Where their cells lie.
    pub geometry: Geometry,
}

/// A member of the roster, as the ledger knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its number here, for good.
    pub slot: u16,
    /// Its key.
    pub site: [u8; 32],
    /// Its name.
    pub name: String,
    /// Most points of spam that its word adds to a signature.
    pub spam: u32,
    /// Most points of ham.
    pub ham: u32,
    /// Most recipients that one of its cells counts for.
    pub seen: u64,
}

/// Own records, one after the other, as they travel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The sequence of the first: beyond the one asked for where older ones have expired.
    pub first: u64,
    /// They.
    pub records: Vec<Vec<u8>>,
}

/// Own cells of an earlier life.
#[derive(Debug)]
pub struct Frozen {
    /// The life.
    pub incarnation: u64,
    /// The generation.
    pub generation: u64,
    /// The cells.
    pub counts: Counts,
    /// The sequence of the last gain in them.
    pub sequence: u64,
}

/// What is written at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Records of peers, to be counted.
    pub heard: Vec<Heard>,
    /// The link's own rows; `None` deletes.
    pub rows: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

/// Records of one life of a peer, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The peer.
    pub slot: u16,
    /// The life.
    pub incarnation: u64,
    /// The sequence of the first.
    pub first: u64,
    /// As they travelled.
    pub records: Vec<Vec<u8>>,
}

/// A site's memory, as far as the link is concerned. All calls come from one thread.
pub trait Journal {
    /// The present life of the folder.
    fn incarnation(&self) -> u64;

    /// All lives of the folder in this network, the present one last: each with the sequence of its last record.
    fn lives(&self) -> Vec<(u64, u64)>;

    /// Own records of a life after a sequence: at least one if there is one, else none; beyond that, as many as
    /// `bytes_max` allows.
    fn records(&self, incarnation: u64, after: u64, bytes_max: usize) -> Result<Run, JournalError>;

    /// When the oldest records that are kept were said, in seconds since the Unix epoch.
    fn kept_from(&self) -> u64;

    /// Generations of the present life, each with the sequence of its last gain.
    fn generations(&self) -> Vec<(u64, u64)>;

    /// Own gains of a generation, those after a sequence without a gap; none where they were forgotten.
    fn gains(&self, generation: u64, after: u64, bytes_max: usize) -> Result<Vec<Vec<u8>>, JournalError>;

    /// Own cells of a generation as the last journalled gain left them, and its sequence.
    fn own_cells(&self, generation: u64, look: &mut dyn FnMut(&Counts, u64)) -> Result<(), JournalError>;

    /// Begins a new life. Records of the present one after a sequence are the new one's; so are own cells of the
    /// present generation, because what of them others have under the old life cannot be told apart. A count is too
    /// high by that, never too low.
    fn renew(&mut self, after: u64) -> Result<(), JournalError>;

    /// Own cells of earlier lives, as far as they are remembered, that the link has not taken over yet.
    fn frozen(&self) -> Vec<Frozen>;

    /// The link counts them from now on.
    fn drop_frozen(&mut self, incarnation: u64, generation: u64);

    /// A row of the link's.
    fn row(&self, key: &[u8]) -> Result<Option<Vec<u8>>, JournalError>;

    /// All rows whose keys begin so, in order, until `visit` says no.
    fn rows(&self, prefix: &[u8], visit: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Result<(), JournalError> {
        self.rows_from(prefix, prefix, visit)
    }

    /// The same, those before `from` passed over without being read.
    fn rows_from(
        &self,
        prefix: &[u8],
        from: &[u8],
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), JournalError>;

    /// All of it or nothing, durable when it returns.
    fn commit(&mut self, batch: Batch) -> Result<(), JournalError>;

    /// Who is believed, and how far. Who is not among them any more is taken out of all that was counted.
    fn set_peers(&mut self, peers: &[Peer]) -> Result<(), JournalError>;

    /// The network and its terms. Begins a new life where the network is another than before.
    fn agree(&mut self, network: [u8; 32], terms: &[Terms]) -> Result<(), JournalError>;

    /// The present generation.
    fn now(&self) -> u64;

    /// The oldest generation whose seen counts are added up.
    fn oldest(&self) -> u64;

    /// Cells of a generation in which nothing is counted.
    fn empty(&self, generation: u64) -> Result<Counts, JournalError>;

    /// A cell of the fold of others.
    fn others_cell(&self, generation: u64, cell: u64) -> u64;

    /// Raises cells of the fold, each by an amount.
    fn raise_others(&mut self, generation: u64, gains: &[(u64, u64)]) -> Result<(), JournalError>;

    /// Puts a fold in the place of the one there is.
    fn put_others(&mut self, generation: u64, counts: Option<Counts>) -> Result<(), JournalError>;
}
