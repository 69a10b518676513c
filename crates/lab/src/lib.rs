//! The lab: the papers' experiments, obtained anew.
//!
//! So far it holds the races alone (the `race` binary, behind the feature of that name), in which our filters run
//! against others' in one process, on the same keys. The experiments come here as a library, so that `seenit lab`
//! can run them without the rivals' crates.
