//! The page faults of a thread: what looking at a mapped file costs.

use std::fs;

/// Faults of a thread since it began: those that had to read a file, and the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Faults {
    pub(super) major: u64,
    pub(super) minor: u64,
}

impl Faults {
    /// Of this thread so far; `None` where the system does not count them in the way of Linux.
    pub(super) fn now() -> Option<Self> {
        parse(&fs::read_to_string("/proc/thread-self/stat").ok()?)
    }

    pub(super) fn since(self, earlier: Faults) -> Faults {
        Faults { major: self.major - earlier.major, minor: self.minor - earlier.minor }
    }
}

/// Fields 10 and 12 of the line. The second field is a name in brackets that may hold anything, so counting begins
/// behind it.
fn parse(line: &str) -> Option<Faults> {
    let (_, behind_name) = line.rsplit_once(')')?;
    let mut fields = behind_name.split_ascii_whitespace().skip(7);
    let minor = fields.next()?.parse().ok()?;
    let major = fields.nth(1)?.parse().ok()?;
    Some(Faults { major, minor })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_the_tenth_and_the_twelfth_field() {
        let line = "7 (a) b) R 1 7 7 0 -1 4194304 96 5 3 0 0 0 0 0 20 0 1 0 5 1 1";
        assert_eq!(parse(line), Some(Faults { major: 3, minor: 96 }));
        assert_eq!(parse("7 (cut short) R 1 7 7 0 -1 4194304 96"), None);
    }
}
