//! What the pyzor clients compute.
