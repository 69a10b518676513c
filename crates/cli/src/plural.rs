//! Counts as people write them: one of a thing has no plural.

/// `1 record`, `2 records`.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_has_no_plural() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "record")), ["0 records", "1 record", "2 records"]);
    }
}
