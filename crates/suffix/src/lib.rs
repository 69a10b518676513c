//! The Public Suffix List: which end of a host name nobody can own (`com`, `co.uk`, `github.io`).
//!
//! The list is the crate `psl`: one function of a hundred thousand lines, generic over how the labels of a name are
//! walked. A generic function is compiled wherever it is called, so the signature room compiled it into its library,
//! again into its tests, and once more for fuzzing: fifty seconds of a processor each time. Here the list is called for
//! one type of labels only, and the compiler does that work once.

pub use psl::{Domain, Info, Psl, Suffix, Type};

/// The list. [`Psl`] says what can be asked of it.
pub struct List;

impl Psl for List {
    fn find<'a, T>(&self, mut labels: T) -> Info
    where
        T: Iterator<Item = &'a [u8]>,
    {
        look_up(&mut labels)
    }
}

/// What can be registered below a public suffix: the suffix and one label before it.
pub fn domain(name: &[u8]) -> Option<Domain<'_>> {
    List.domain(name)
}

/// What can be registered below a public suffix, of a name that is text.
pub fn domain_str(name: &str) -> Option<&str> {
    std::str::from_utf8(domain(name.as_bytes())?.trim().as_bytes()).ok()
}

/// The one place where the list is compiled. Inlined, it would be compiled where it is called, as before.
#[inline(never)]
fn look_up(labels: &mut dyn Iterator<Item = &[u8]>) -> Info {
    psl::List.find(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names and what is registrable of them, as the list itself says it.
    #[test]
    fn the_list_says_what_the_crate_says() {
        let names = [
            "www.example.com",
            "example.co.uk",
            "co.uk",
            "me.github.io",
            "a.b.c.kobe.jp",
            "city.kobe.jp",
            "com",
            "",
            ".",
            "..",
            "example.com.",
            "no-such-suffix",
            "a.no-such-suffix",
            "www.ck",
            "other.ck",
            "食狮.中国",
        ];
        for name in names {
            assert_eq!(domain(name.as_bytes()), psl::domain(name.as_bytes()), "{name:?}");
            assert_eq!(domain_str(name), psl::domain_str(name), "{name:?}");
            let labels = || name.as_bytes().rsplit(|&byte| byte == b'.');
            assert_eq!(List.find(labels()), psl::List.find(labels()), "{name:?}");
        }
    }
}
