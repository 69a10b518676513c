//! Where messages come from: files, standard input, mboxes, Maildirs, folders and archives, one after the other.
//!
//! ```no_run
//! use seenit_mailbox::{MailError, Mailbox};
//!
//! let mailbox = Mailbox::find(&["Maildir".into(), "old.tar.gz".into()])?;
//! mailbox.each_message(&mut |name, bytes| {
//!     println!("{name}: {} bytes", bytes.len());
//!     Ok::<(), MailError>(())
//! })?;
//! # Ok::<(), MailError>(())
//! ```
//!
//! Only one message is held at a time. [`Corpus`] is the other way to read: labelled messages of an index, all of them
//! in memory, because experiments go over them again and again.

mod archive;
mod corpus;
mod error;
mod files;
mod frames;
#[doc(hidden)]
pub mod fuzzed;
mod mbox;
mod messages;

pub use corpus::{Corpus, Label, Labelled};
pub use error::MailError;
pub use files::{Mailbox, Skipped};
pub use messages::MESSAGE_BYTES_MAX;
