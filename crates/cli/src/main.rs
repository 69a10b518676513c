//! seenit.
fn main() {}
