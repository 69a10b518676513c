//! A message in, signatures out.
//!
//! A signature is a *kind* and a digest. Some kinds are seenit's own, the others are those of clients that people already
//! run, computed as those clients do, so that a report that carries a message helps the users of them all.
//!
//! Any bytes are mail: there is always an answer, in bounded time and memory.

pub mod dcc;
pub mod pyzor;
pub mod razor;
pub mod rspamd;
