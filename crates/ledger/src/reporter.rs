//! Reporters: who says something, and what their opinion weighs.

use serde::{Deserialize, Serialize};

/// A reporter's number in records. Numbers are never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReporterId(pub u32);

/// The built-in reporter of this machine's users who are not the operator and have no account: one voice for all.
pub const LOCAL: ReporterId = ReporterId(1);

/// The operator: whoever holds the operator's token, and on this machine root and whom the server runs as.
pub const OPERATOR: ReporterId = ReporterId(2);

/// What `local` weighs until an operator says otherwise; less where a configuration leaves strangers less
/// (`LedgerConfig::strangers_max`). Whoever may run a program on this machine has this voice, so it is too little to
/// list anything (`quorum`); and four times as much (`ratio`) is less than a quorum, so that it cannot unlist anything.
pub const LOCAL_WEIGHT: u8 = 2;

/// How a reporter stands with the operator. What its opinion may do, and what it can reach, follows from this: see
/// `trust`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// The operator itself, and those for whom it fixed a weight that makes trusted. Only they settle what others said.
    Vouched,
    /// Those whom the operator made by hand: they earn weight slowly, and never enough to list mail alone.
    Known,
    /// Those who registered themselves, and the users of this machine: they earn nothing.
    #[default]
    Stranger,
}

/// What a reporter has done for its next point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toward {
    /// Messages on which it was confirmed.
    pub messages: u64,
    /// Generations in which that was.
    pub generations: u64,
}

/// A reporter, its weight, and how it came by it: see `trust`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reporter {
    /// Its number.
    pub id: ReporterId,
    /// Its name.
    pub name: String,
    /// Points that its opinion weighs.
    pub weight: u8,
    /// Whether an operator chose the weight, and no rule changes it.
    pub fixed: bool,
    /// How it stands with the operator.
    #[serde(default)]
    pub standing: Standing,
    /// Messages of which a vouched reporter later said the same.
    pub confirmed: u64,
    /// Generations in which that was.
    #[serde(default)]
    pub confirmed_generations: u64,
    /// The last generation in which it was.
    #[serde(default)]
    pub last_confirmed: Option<u64>,
    /// Messages of which a vouched reporter said the opposite.
    pub refuted: u64,
    /// The last generation in which that was.
    #[serde(default)]
    pub last_refuted: Option<u64>,
    /// What it has done for its next point.
    #[serde(default)]
    pub toward: Toward,
    /// Records in all.
    pub records: u64,
}

impl Reporter {
    /// One who has said nothing yet, and whose weight rules may change.
    pub(crate) fn new(id: ReporterId, name: &str, standing: Standing, weight: u8) -> Self {
        Reporter {
            id,
            name: name.to_owned(),
            weight,
            fixed: false,
            standing,
            confirmed: 0,
            confirmed_generations: 0,
            last_confirmed: None,
            refuted: 0,
            last_refuted: None,
            toward: Toward::default(),
            records: 0,
        }
    }

    /// Whether it settles what others said.
    pub fn is_vouched(&self) -> bool {
        self.standing == Standing::Vouched
    }
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

    /// Whose opinion a peer's is on a shingle: all its reporters have one voice together.
    pub(crate) fn voice_of(slot: u16) -> Self {
        ReporterId::of_peer(slot, 0)
    }

    /// Whose opinion a peer's MANY is.
    pub(crate) fn many_of(slot: u16) -> Self {
        ReporterId::of_peer(slot, REMOTE_MAX + 1)
    }

    /// Whose opinion a peer's forget is.
    pub(crate) fn forgetting_of(slot: u16) -> Self {
        ReporterId::of_peer(slot, REMOTE_MAX)
    }

    /// The slot of the peer whose reporter it is; none for own ones.
    pub fn slot(self) -> Option<u16> {
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
