//! Reporters: who says something, and what their word weighs.

use serde::{Deserialize, Serialize};

/// A reporter's number in records. Numbers are never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReporterId(pub u32);

/// The built-in reporter of this machine's users who are not the operator and have no account: one voice for all.
pub const LOCAL: ReporterId = ReporterId(1);

/// The operator: whoever holds the operator's token, and on this machine root and whom the server runs as.
pub const OPERATOR: ReporterId = ReporterId(2);

/// What `local` weighs until an operator says otherwise. Whoever may run a program on this machine has this voice, so
/// it is too little to list anything (`quorum`) or to be trusted; and four times as much (`ratio`) is less than one
/// report of the operator, so that it cannot unlist what the operator reported, either.
pub const LOCAL_WEIGHT: u8 = 2;

/// A reporter, its weight, and how it came by it: see `trust`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reporter {
    /// Its number.
    pub id: ReporterId,
    /// Its name.
    pub name: String,
    /// Points that its word weighs.
    pub weight: u8,
    /// Whether an operator chose the weight, and no rule changes it.
    pub fixed: bool,
    /// Words that a trusted reporter later said, too.
    pub confirmed: u64,
    /// Words that a trusted reporter later contradicted.
    pub refuted: u64,
    /// Records in all.
    pub records: u64,
}

/// Bits of reporters' numbers at their own site. Above them, in the numbers of peers' reporters, lies the peer's slot.
const REMOTE_BITS: u32 = 20;

/// The highest slot of a peer.
pub const SLOT_MAX: u16 = 1000;

/// Numbers of a peer's own reporters are below this one: those from here on name its marks.
pub(crate) const REMOTE_MAX: u32 = (1 << REMOTE_BITS) - 2;

impl ReporterId {
    /// The reporter of a peer.
    pub(crate) fn of_peer(slot: u16, remote: u32) -> Self {
        ReporterId(u32::from(slot) << REMOTE_BITS | remote)
    }

    /// Whose word a peer's is on a shingle: all its reporters have one voice together.
    pub(crate) fn voice_of(slot: u16) -> Self {
        ReporterId::of_peer(slot, 0)
    }

    /// Whose word a peer's MANY is.
    pub(crate) fn many_of(slot: u16) -> Self {
        ReporterId::of_peer(slot, REMOTE_MAX + 1)
    }

    /// Whose word a peer's forget is.
    pub(crate) fn forgetting_of(slot: u16) -> Self {
        ReporterId::of_peer(slot, REMOTE_MAX)
    }

    /// The slot of the peer whose reporter it is; none for own ones.
    pub(crate) fn slot(self) -> Option<u16> {
        let slot = u16::try_from(self.0 >> REMOTE_BITS).ok()?;
        (1..=SLOT_MAX).contains(&slot).then_some(slot)
    }

    /// The number that a peer's reporter has at its own site.
    pub(crate) fn remote(self) -> u32 {
        self.0 & ((1 << REMOTE_BITS) - 1)
    }

    /// Whether it is one of the built-in accounts of this machine.
    pub fn is_local(self) -> bool {
        self == LOCAL || self == OPERATOR
    }
}
