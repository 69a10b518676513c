//! Whose opinions count beside those of own reporters: peers, and how far each is believed.
//!
//! A peer's opinion counts like that of an own reporter, with these limits:
//!
//! * On a signature all reporters of a peer together count for at most the peer's caps, one for spam and one for ham.
//! * On a shingle a peer has one voice. Its last opinion counts one unit of spam, none where its spam cap is below what
//!   makes a reporter trusted, and none of ham: no peer can blind this site to replicas.
//! * Its protections are revocations here: a veto holds at the site whose operator gave it.
//! * Its bulk marks, and its MANY, are believed only where its seen counts would count for as much.
//! * It adds no more new signatures, texts and bulk marks in a generation than its share of their capacities
//!   (`reporter_percent`). What is beyond that, what finds the tally full, and what cannot be read is kept and not
//!   counted; what is too old to count is not kept.
//! * Its opinions settle nobody's trust, and nobody here settles that of its reporters.
//!
//! What others hold of this site's own earlier incarnations comes back under a slot of its own. It counts as what own
//! reporters said, so that they can withdraw it.

pub(crate) mod change;
pub(crate) mod table;
