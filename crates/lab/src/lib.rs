//! The lab: every table and figure of the papers, obtained anew from a seed and laid beside what they print.
//!
//! It asks the filters of [`seenit_filter`], never a second implementation, so a change that breaks a filter breaks its
//! experiment. An experiment gives *rows* for machines (the contract of `seenit lab run NAME --json`), and an
//! [`Account`] for people: tables and figures, and findings that answer each claim with yes or no and a number.
//!
//! Where a printed value does not come out, the account says so, with the reason where it is known. Nothing is tuned to
//! match. Results depend on the seed alone, not on the number of threads: whatever is random comes from a
//! [stream](draw::stream) named by what it is for.
//!
//! The races against other people's programs are a package of their own, `seenit-race`. Only the binary `race` uses it.

pub mod account;
pub mod bench;
pub mod bins;
pub mod counting;
pub mod draw;
pub mod figure;
pub mod interval;
pub mod page;
pub mod pages;
pub mod redstop;
pub mod replicas;
pub mod retouch;
pub mod site;
pub mod storage;
pub mod words;

pub use account::{Account, Finding, Outcome, Table, Verdict};
pub use bench::{Bench, LabError, Progress};
pub use figure::{Axis, Figure, Mark, Series};

/// The experiments, in the order of the papers: their names, and what each answers.
pub const EXPERIMENTS: [(&str, &str); 9] = [
    ("counting", "How often is a count wrong, and how much better is refined insertion? (Tables I to X)"),
    ("retouch", "What does it cost to take false positives out of a filter? (Tables I to IV)"),
    (
        "redstop",
        "Does a retouched filter serve traceroute monitors as a list does? (the case study, synthetic traces)",
    ),
    ("bins", "Are weighted words better kept in bins of their own rate? (Table 1)"),
    ("pages", "What does it cost, and what does it save, to keep a key in one page? (the four experiments)"),
    ("storage", "How many bits does a true count take, and how many bytes a delta?"),
    (
        "replicas",
        "Which signatures find the next copy of a spam message, and what do they hit besides? (real mail)",
    ),
    ("words", "How much spam do bins of words catch, beside bogofilter on the same mail?"),
    (
        "site",
        "What does each rule of trust buy against careless and hostile reporters? (real mail, a real server)",
    ),
];
