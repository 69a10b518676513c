//! The kinds of signatures, by name.

use std::fmt;

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
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 10] = [
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
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
