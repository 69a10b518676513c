//! Counts of targets, as requests and answers have them.

use super::TARGETS_MAX;

/// The report counts as "many". In an answer the same bit says that there is nothing to say.
const SPAM: u32 = 0x0100_0000;
/// The same, from a client that asked for the sender's reputation first.
const REPUTATION_SPAM: u32 = 0x0200_0000;
/// Counts have 24 bits.
const COUNT_MASK: u32 = 0x00ff_ffff;

const NUMBER_MAX: u32 = 0x00ff_ffef;
const MANY: u32 = 0x00ff_fff0;
const OK: u32 = 0x00ff_fff1;
const OK2: u32 = 0x00ff_fff2;

/// What an answer says of a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Count {
    /// So many targets. What does not fit is said as the largest number, never as [`Count::Many`]: clients reject mail
    /// for that.
    Number(u32),
    /// Certainly bulk.
    Many,
    /// The server's whitelist vouches for it.
    Ok,
    /// The server's whitelist vouches for it by half: two of these are an [`Count::Ok`].
    Ok2,
    /// Nothing is known of checksums of this type.
    NoOpinion,
}

impl Count {
    /// The number that stands for it on the wire.
    pub fn to_wire(self) -> u32 {
        match self {
            Self::Number(number) => number.min(NUMBER_MAX),
            Self::Many => MANY,
            Self::Ok => OK,
            Self::Ok2 => OK2,
            Self::NoOpinion => SPAM,
        }
    }

    /// What a number on the wire stands for, or nothing if no server says it.
    pub(super) fn from_wire(number: u32) -> Option<Self> {
        match number {
            0..=NUMBER_MAX => Some(Self::Number(number)),
            MANY => Some(Self::Many),
            OK => Some(Self::Ok),
            OK2 => Some(Self::Ok2),
            SPAM => Some(Self::NoOpinion),
            _ => None,
        }
    }
}

/// What a checksum is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Totals {
    /// The total, this report included.
    pub current: Count,
    /// The total before this report.
    pub previous: Count,
}

impl Totals {
    /// The checksum is of a type that is not counted.
    pub const NO_OPINION: Self = Self { current: Count::Number(0), previous: Count::NoOpinion };

    /// The same before and after: a query, or a checksum that a list decides.
    pub const fn unchanged(count: Count) -> Self {
        Self { current: count, previous: count }
    }
}

/// How many recipients a report is about, and whether its sender calls it bulk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Targets {
    /// The recipients, at most [`TARGETS_MAX`].
    pub recipients: u32,
    /// The report counts as [`Count::Many`].
    pub many: bool,
}

impl Targets {
    /// The number that stands for them on the wire.
    pub(super) fn to_wire(self) -> u32 {
        self.recipients.min(TARGETS_MAX) | if self.many { SPAM } else { 0 }
    }

    /// The targets of a number on the wire, or nothing if it is none that a client sends.
    pub(super) fn from_wire(number: u32) -> Option<Self> {
        let low = number & COUNT_MASK;
        match number & !COUNT_MASK {
            0 if low == MANY => Some(Self { recipients: 1, many: true }),
            0 if low <= TARGETS_MAX => Some(Self { recipients: low, many: false }),
            flags if flags != 0 && flags & !(SPAM | REPUTATION_SPAM) == 0 => {
                let recipients = if low == MANY { 1 } else { low.clamp(1, TARGETS_MAX) };
                Some(Self { recipients, many: true })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(recipients: u32, many: bool) -> Option<Targets> {
        Some(Targets { recipients, many })
    }

    #[test]
    fn targets_are_numbers_up_to_two_thousand_or_many() {
        assert_eq!(Targets::from_wire(0), targets(0, false));
        assert_eq!(Targets::from_wire(2000), targets(2000, false));
        assert_eq!(Targets::from_wire(2001), None);
        assert_eq!(Targets::from_wire(0x00ff_fff0), targets(1, true));
        assert_eq!(Targets::from_wire(0x00ff_fff1), None);
        assert_eq!(Targets::from_wire(0x0100_0007), targets(7, true));
        assert_eq!(Targets::from_wire(0x0100_0000), targets(1, true));
        assert_eq!(Targets::from_wire(0x0200_0001), targets(1, true));
        assert_eq!(Targets::from_wire(0x01ff_ffff), targets(2000, true));
        assert_eq!(Targets::from_wire(0x0400_0001), None);
    }

    #[test]
    fn a_number_is_never_said_as_many() {
        assert_eq!(Count::Number(11).to_wire(), 11);
        assert_eq!(Count::Number(u32::MAX).to_wire(), 0x00ff_ffef);
    }
}
