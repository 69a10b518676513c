//! Why bytes are not what they claim to be, or why something cannot be signed: one error for all formats.

use thiserror::Error;

use crate::digest::Digest;
use crate::key::{AdminKey, KeyError, SealingKey, SiteKey};
use crate::number::Generation;
use crate::roster::{Name, NameError};

/// Why something is no document of its format, or cannot be used as one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FormatError {
    /// Something is missing.
    #[error("the bytes end too early")]
    Cut,
    /// Something is left.
    #[error("there are {0} bytes too many")]
    Surplus(usize),
    /// More of something than there may be.
    #[error("{found} {what}: there may be {most}")]
    Many {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// Another format, or another version of it.
    #[error(
        "the bytes do not begin with {expected:?}: another format, or a version this program does not read"
    )]
    Tag {
        /// What they should begin with.
        expected: &'static str,
    },
    /// A line of text that is none of ours.
    #[error("it does not begin with {0}, followed by hexadecimal digits in lower case, two to a byte")]
    Line(&'static str),
    /// Somebody else made it, or changed it.
    #[error("the signature is not that of {role} {signer}")]
    Signature {
        /// What the signer is.
        role: &'static str,
        /// Whose signature it should be.
        signer: String,
    },
    /// Somebody else's.
    #[error("it is of network {found}, not of {expected}")]
    OtherNetwork {
        /// The network that was asked for.
        expected: AdminKey,
        /// The one it is of.
        found: String,
    },
    /// Of somebody unknown, or of a site that was removed.
    #[error("site {0} is not in the roster")]
    NoMember(String),
    /// A key that is none.
    #[error("the key of the {0}: {1}")]
    Key(&'static str, #[source] KeyError),
    /// A name that is none.
    #[error("the name of a site: {0}")]
    Name(#[from] NameError),
    /// A number that nothing can have.
    #[error("{what} {found}: {why}")]
    Number {
        /// Of what.
        what: &'static str,
        /// The number.
        found: u64,
        /// What it may be.
        why: &'static str,
    },
    /// Sites must ascend by their keys, each once: so that nothing has a second encoding.
    #[error("site {0} does not stand where the order of keys has it, or is there twice")]
    Order(SiteKey),
    /// Two sites that nobody could tell apart.
    #[error("two sites have the name {0}")]
    NameTwice(Name),
    /// Two sites of which each opens what is sealed to the other: one is a copy.
    #[error("two sites have the sealing key {0}")]
    SealingTwice(SealingKey),
    /// Whatever is sealed to it, everybody could open.
    #[error("the sealing key of site {0} is a weak one")]
    WeakSealing(SiteKey),
    /// The site is no member, or was none when this was signed.
    #[error("manifest {number} holds no key for site {site}")]
    NotSealed {
        /// The manifest.
        number: u64,
        /// The site.
        site: SiteKey,
    },
    /// The site's secret does not open it, or what it opens is another key than the one the manifest names.
    #[error("the key that manifest {number} holds for site {site} is not the one it names")]
    OtherKey {
        /// The manifest.
        number: u64,
        /// The site.
        site: SiteKey,
    },
    /// Generations are numbered by their length: with another, a number would mean two spans of time.
    #[error("manifest {number} has generations of {found} seconds, and those of this network have {held}")]
    OtherGenerationSecs {
        /// The manifest.
        number: u64,
        /// Its length of a generation.
        found: u64,
        /// The network's.
        held: u64,
    },
    /// It would change the key of counts that there are already.
    #[error("manifest {number} changes generation {first}, and this site has counted in generation {begun}")]
    Late {
        /// The manifest.
        number: u64,
        /// Its first generation.
        first: Generation,
        /// The newest generation that has begun here.
        begun: Generation,
    },
    /// A message leads forward, and a head alone nowhere.
    #[error("{payload} bytes lead from {previous} to {sequence}")]
    LeadsNowhere {
        /// The length of the payload.
        payload: usize,
        /// The state that it follows.
        previous: u64,
        /// The state after it.
        sequence: u64,
    },
    /// Not the payload that the head was signed with.
    #[error("the payload has digest {found}, and the head says {expected}")]
    OtherPayload {
        /// What the head says.
        expected: Digest,
        /// What it is.
        found: Digest,
    },
    /// A heartbeat has heads of its site's own streams, and a snapshot sections of them.
    #[error("it speaks for another site than the one that signed it, or has a payload elsewhere")]
    OtherSite,
    /// There cannot be as many, or no such last one.
    #[error("{uncounted} uncounted items up to {last} of {sequence}")]
    Uncounted {
        /// How many.
        uncounted: u64,
        /// The last of them.
        last: u64,
        /// Of how many.
        sequence: u64,
    },
    /// Not as many packs as the sections need.
    #[error("a snapshot of {sections} sections in {packs} packs")]
    Packs {
        /// Sections.
        sections: usize,
        /// Packs.
        packs: usize,
    },
}

/// A number that nothing can have.
pub(crate) fn number(what: &'static str, found: u64, why: &'static str) -> FormatError {
    FormatError::Number { what, found, why }
}

/// Refuses more of something than there may be.
pub(crate) fn at_most(what: &'static str, found: usize, most: usize) -> Result<(), FormatError> {
    if found <= most { Ok(()) } else { Err(FormatError::Many { what, found, most }) }
}
