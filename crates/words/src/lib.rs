//! The words of mail: weighed, kept in bins, and combined into one probability that a message is spam.
//!
//! [`Trainer`] counts in how many messages of each side a word stands and makes a [`Model`]: a bin filter of spam words
//! and of good words, with what is needed to read it. `docs/reference/words.md` has the rules and the formula,
//! `docs/notebook/words.md` what was measured to choose them. Nothing here reads a clock or opens a file.
//!
//! ```
//! use seenit_words::{Options, Side, Trainer};
//!
//! let mut trainer = Trainer::new();
//! for n in 0..50 {
//!     trainer.learn_message(Side::Spam, format!("Subject: win\n\ncheap pills for you, offer {n}").as_bytes());
//!     trainer.learn_message(Side::Ham, format!("Subject: minutes\n\nthe meeting of group {n}").as_bytes());
//! }
//! let trained = trainer.train(&Options::default())?;
//! let opinion = trained.model.judge(b"Subject: win\n\ncheap pills for all, offer ends").expect("it has words");
//! assert!(opinion.probability > 0.9);
//! assert!(trained.model.judge(b"\n\n").is_none(), "no words, no opinion");
//! # Ok::<(), seenit_words::WordsError>(())
//! ```

mod calibrate;
mod count;
mod error;
mod model;
mod plan;
pub mod roc;
pub mod token;
mod train;
mod weigh;

pub use count::{Count, EXAMPLE_WORDS_MAX, Side, Trainer, WORDS_MAX};
pub use error::WordsError;
pub use model::{Model, Opinion, Word};
pub use train::{BITS_MAX, BITS_PER_WORD, Options, Summary, Trained};
pub use weigh::{LEAST, SMOOTHING, WEIGHT_CAP, weight};
