//! Numbers of bytes as people read them.

/// Units, each 1024 times the one before.
const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];

/// A number of bytes for people: `512 bytes`, `32 MiB`, `1.5 GiB`. What is not whole has one decimal, so that `32 MiB`
/// is exactly that and `32.0 MiB` is a little more or less. Machines get the number itself.
pub fn bytes(bytes: u64) -> String {
    if bytes < 1024 {
        return if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") };
    }
    let mut power = (bytes.ilog2() / 10).min(UNITS.len() as u32);
    let mut value = bytes as f64 / (1_u64 << (10 * power)) as f64;
    // 1023.96 KiB would round to 1024.0 KiB.
    if value >= 1023.95 && (power as usize) < UNITS.len() {
        power += 1;
        value /= 1024.0;
    }
    let unit = UNITS[power as usize - 1];
    if bytes.is_multiple_of(1 << (10 * power)) {
        format!("{value:.0} {unit}")
    } else {
        format!("{value:.1} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_numbers_are_round_and_others_have_one_decimal() {
        for (number, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (32 << 20, "32 MiB"),
            ((32 << 20) + 1, "32.0 MiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            (1 << 40, "1 TiB"),
            (u64::MAX, "16384.0 PiB"),
        ] {
            assert_eq!(bytes(number), text, "{number}");
        }
    }
}
