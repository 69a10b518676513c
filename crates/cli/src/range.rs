//! Numbers of the command line that have a range: what is wrong with one is said in words.

use std::ops::RangeInclusive;

/// Reads a number, and refuses one out of its range: `must be a number from 0 to 10`.
pub(crate) fn within<N>(range: RangeInclusive<N>) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync
where
    N: Copy + TryFrom<u64> + Into<u64> + Send + Sync + 'static,
{
    let (least, most) = ((*range.start()).into(), (*range.end()).into());
    move |text| {
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.and_then(|number| N::try_from(number).ok()).ok_or_else(|| match most {
            u64::MAX => format!("must be a number, {least} or more"),
            _ => format!("must be a number from {least} to {most}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_said_in_words() {
        let weight = within(0..=10_u8);
        assert_eq!(weight("10"), Ok(10));
        for text in ["11", "-1", "", "ten", "99999999999999999999"] {
            assert_eq!(weight(text), Err("must be a number from 0 to 10".into()), "{text}");
        }
        assert_eq!(within(1..=u64::MAX)("0"), Err("must be a number, 1 or more".into()));
    }
}
