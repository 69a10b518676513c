//! A message in, signatures out.
//!
//! A signature is a *kind* and a digest. Some kinds are seenit's own, the others are those of clients that people
//! already run, computed as those clients do, so that a report that carries a message helps the users of them all.
//!
//! Any bytes are mail: there is always an answer, in bounded time and memory.

mod character;
pub mod complaint;
pub mod dcc;
mod fold;
mod head;
pub mod kind;
pub mod message;
pub mod near;
pub mod own;
mod parts;
pub mod pyzor;
mod quiet;
pub mod razor;
pub mod rspamd;
pub mod sign;
pub mod signature;
mod transfer;
pub mod url;
mod visible;
pub mod words;
mod work;

pub use fold::is_unspaced;
pub use kind::{Class, Kind, Proof};
pub use message::Message;
pub use sign::sign;
pub use signature::{Digest, Signature};
pub use words::Words;
