//! The protocol of Pyzor.
