//! The protocol of DCC.
