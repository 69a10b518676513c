//! Dates for people and for JSON.

/// Seconds of a day.
const DAY: u64 = 86_400;

/// The last second whose year has four digits: what RFC 3339 can write.
const SECS_MAX: u64 = 253_402_300_799;

/// A time, in seconds since the Unix epoch, as RFC 3339 writes it: `2026-11-16T17:37:43Z`.
pub(crate) fn rfc3339(secs: u64) -> String {
    let secs = secs.min(SECS_MAX);
    let days = secs / DAY;
    let rest = secs % DAY;
    let (year, month, day) = civil(days);
    let hour = rest / 3600;
    let minute = rest / 60 % 60;
    let second = rest % 60;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of so many days since the Unix epoch. Years are counted from March on, so that the day that some
/// have is the last of them; 400 years have always as many days.
fn civil(days: u64) -> (u64, u64, u64) {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    const FROM_MARCH_OF_YEAR_0: u64 = 719_468;
    let days = days + FROM_MARCH_OF_YEAR_0;
    let era = days / DAYS_OF_400_YEARS;
    let day = days % DAYS_OF_400_YEARS;
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (400 * era + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_rfc_3339_has_them() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_794_850_663), "2026-11-16T17:37:43Z");
        assert_eq!(rfc3339(4_107_542_399), "2100-02-28T23:59:59Z");
        assert_eq!(rfc3339(4_107_542_400), "2100-03-01T00:00:00Z", "no leap year");
        assert_eq!(rfc3339(u64::MAX), "9999-12-31T23:59:59Z");
    }

    /// Day by day over more than 400 years, as a calendar is turned.
    #[test]
    fn every_day_follows_the_one_before() {
        let is_leap =
            |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let mut year = 1970;
        let mut month = 1;
        let mut day = 1;
        for days in 0..160_000 {
            assert_eq!(civil(days), (year, month, day));
            let length = match month {
                2 => 28 + u64::from(is_leap(year)),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            (day, month) = if day == length { (1, month + 1) } else { (day + 1, month) };
            (month, year) = if month == 13 { (1, year + 1) } else { (month, year) };
        }
    }
}
