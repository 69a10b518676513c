//! The kinds of signatures, by name.

use std::fmt;

use crate::near::SHINGLES;

/// A kind of signature. A change of definition is a new kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// The words of the text a reader sees.
    Exact1,
    /// 32 min-hash shingles of that text.
    Near1,
    /// Where a link leads.
    Url1,
    /// An attachment or image, by content.
    Part1,
    /// Pyzor's digest.
    Pyzor,
    /// Razor's engine 4: bytes of the text, chosen by a seed.
    RazorE4,
    /// Razor's engine 8: a host in the text.
    RazorE8,
    /// DCC's checksum of the body.
    DccBody,
    /// DCC's first fuzzy checksum.
    DccFuz1,
    /// rspamd's digest of the words.
    Rspamd,
    /// DCC's second fuzzy checksum. Only DCC's clients can make it: it takes their word lists.
    DccFuz2,
    /// rspamd's 32 min-hash shingles of the words.
    RspamdNear,
    /// What a client of rspamd called a text that is neither spam nor ham: a flag, and rspamd's digest.
    RspamdLabel,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 13] = [
        Kind::Exact1,
        Kind::Near1,
        Kind::Url1,
        Kind::Part1,
        Kind::Pyzor,
        Kind::RazorE4,
        Kind::RazorE8,
        Kind::DccBody,
        Kind::DccFuz1,
        Kind::Rspamd,
        Kind::DccFuz2,
        Kind::RspamdNear,
        Kind::RspamdLabel,
    ];

    /// Its name, everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Exact1 => "exact1",
            Kind::Near1 => "near1",
            Kind::Url1 => "url1",
            Kind::Part1 => "part1",
            Kind::Pyzor => "pyzor",
            Kind::RazorE4 => "razor-e4",
            Kind::RazorE8 => "razor-e8",
            Kind::DccBody => "dcc-body",
            Kind::DccFuz1 => "dcc-fuz1",
            Kind::Rspamd => "rspamd",
            Kind::DccFuz2 => "dcc-fuz2",
            Kind::RspamdNear => "rspamd-near",
            Kind::RspamdLabel => "rspamd-label",
        }
    }
}

impl Kind {
    /// Its number in bodies, records and files. Numbers are never given twice.
    pub fn code(self) -> u8 {
        match self {
            Kind::Exact1 => 1,
            Kind::Near1 => 2,
            Kind::Url1 => 3,
            Kind::Part1 => 4,
            Kind::Pyzor => 5,
            Kind::RazorE4 => 6,
            Kind::RazorE8 => 7,
            Kind::DccBody => 8,
            Kind::DccFuz1 => 9,
            Kind::Rspamd => 10,
            Kind::DccFuz2 => 11,
            Kind::RspamdNear => 12,
            Kind::RspamdLabel => 13,
        }
    }

    /// The kind with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        Kind::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// How long its digests are.
    pub fn digest_bytes(self) -> usize {
        match self {
            Kind::Exact1 | Kind::Url1 | Kind::Part1 | Kind::Pyzor | Kind::RazorE4 => 20,
            Kind::RazorE8 => 8,
            Kind::DccBody | Kind::DccFuz1 | Kind::DccFuz2 => 16,
            Kind::Rspamd => 64,
            Kind::RspamdLabel => 65,
            Kind::Near1 | Kind::RspamdNear => 8 * SHINGLES,
        }
    }

    /// What of a message its digests are made of.
    pub fn class(self) -> Class {
        match self {
            Kind::Exact1 | Kind::Pyzor | Kind::DccBody | Kind::DccFuz1 | Kind::DccFuz2 => Class::Whole,
            Kind::RazorE4 => Class::AllParts,
            Kind::Near1 | Kind::RspamdNear => Class::Text,
            Kind::Part1 | Kind::Rspamd => Class::Part,
            Kind::Url1 | Kind::RazorE8 => Class::Shared,
            Kind::RspamdLabel => Class::Label,
        }
    }

    /// Whether its digest is made of a whole message, so that a good digest means good mail.
    pub fn is_whole(self) -> bool {
        self.class() == Class::Whole
    }

    /// How far its digest proves which message it is.
    ///
    /// Pyzor reads some lines, and DCC's fuzzy checksums leave out what spam likes to change: spam can be made to have
    /// those of a newsletter. Phishing copies the words of a bank's mail and changes the link or the number to call,
    /// which are no words: so its `exact1` is that of the bank's mail, and its `dcc-body` is not.
    pub fn proof(self) -> Proof {
        match self {
            Kind::DccBody => Proof::Body,
            Kind::Exact1 => Proof::Words,
            _ => Proof::None,
        }
    }

    /// Whether its digest names a message: it is made of all of it, or of all its parts.
    pub fn names_message(self) -> bool {
        matches!(self.class(), Class::Whole | Class::AllParts)
    }

    /// Whether its digest is of what somebody wrote or attached, in whole or in part, and not of a link or a host in
    /// it: those are shared by strangers.
    pub fn is_exact(self) -> bool {
        self.names_message() || self.class() == Class::Part
    }

    /// Whether its digest is the shingles of a text.
    pub fn is_near(self) -> bool {
        self.class() == Class::Text
    }
}

/// What a digest that two messages share proves. What proves more comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    /// Nothing: a sender can give its message the digest of another one.
    None,
    /// That they have the same words. Links, numbers, addresses and attachments may differ.
    Words,
    /// That they have the same body.
    Body,
}

/// What of a message the digests of a kind are made of. It decides how much a digest proves. Classes that prove more
/// come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// All of it: two messages with one digest are one message, give or take what senders vary.
    Whole,
    /// All its parts together, as Razor's client knows them ([`crate::razor::together`]). They name it; but engine 4
    /// reads two sections of a long text only, so spam can be made to have the digest of good mail: that is no ham.
    AllParts,
    /// The shingles of its text: two messages that share most of them resemble each other.
    Text,
    /// One part of it. Good mail and spam carry the same logo, and the same footer of a mailing list.
    Part,
    /// A link or a host that many messages share.
    Shared,
    /// A name that somebody gave a text, and no opinion of it.
    Label,
}

impl Class {
    /// Whether other messages have it, too: a part, a link, a host, a label.
    pub fn is_piece(self) -> bool {
        self >= Class::Part
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_lead_back_to_their_kind() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_code(kind.code()), Some(kind));
            assert_eq!(Kind::from_name(kind.as_str()), Some(kind));
        }
        assert_eq!((Kind::from_code(0), Kind::from_code(14)), (None, None));
        assert_eq!(Kind::from_name("exact2"), None);
    }
}
