//! Numbers as text: printed digits compared, and values set in tables.

/// How a value and the digits that were printed for it go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Digits {
    /// The value rounds to them.
    Rounded,
    /// They are the value's first digits, where rounding would give others.
    CutOff,
    /// They are those of another value.
    Other,
}

impl Digits {
    /// Compares `value` with `printed`, a decimal number with or without an exponent.
    pub(super) fn of(printed: &str, value: f64) -> Self {
        let (mantissa, exponent) = printed.split_once('E').unwrap_or((printed, "0"));
        let places = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
        let (Ok(read), Ok(exponent)) = (printed.parse::<f64>(), exponent.parse::<i32>()) else {
            return Digits::Other;
        };
        let off = (value - read) / 10f64.powi(exponent - places);
        match off {
            _ if off.abs() <= 0.5 => Digits::Rounded,
            _ if (0.0..1.0).contains(&off) => Digits::CutOff,
            _ => Digits::Other,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Digits::Rounded => "rounded",
            Digits::CutOff => "cut off",
            Digits::Other => "other",
        }
    }
}

/// Heads or cells of a table.
pub(super) fn cells(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

/// Values with as many decimals each, one after the other.
pub(super) fn decimals(values: &[f64], places: usize) -> String {
    values.iter().map(|value| format!("{value:.places$}")).collect::<Vec<_>>().join(", ")
}

/// A value with four digits that count.
pub(super) fn four(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let places = (3 - value.abs().log10().floor() as i32).clamp(0, 8) as usize;
    format!("{value:.places$}")
}

/// A share in per cent, with the digits that count when it is small.
pub(super) fn percent(share: f64) -> String {
    let size = (100.0 * share).abs();
    if size >= 9.95 || size == 0.0 {
        format!("{:.0} %", 100.0 * share)
    } else if size >= 0.1 {
        format!("{:.1} %", 100.0 * share)
    } else {
        format!("{:.1e} %", 100.0 * share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_rounded_cut_off_or_others() {
        assert_eq!(Digits::of("0.2139", 0.21394), Digits::Rounded);
        assert_eq!(Digits::of("0.2159", 0.21596), Digits::CutOff);
        assert_eq!(Digits::of("0.2159", 0.21584), Digits::Other);
        assert_eq!(Digits::of("1.79E-05", 1.794e-5), Digits::Rounded);
        assert_eq!(Digits::of("1.79E-05", 1.81e-5), Digits::Other);
    }

    #[test]
    fn few_digits_of_values_large_and_small() {
        assert_eq!([1234.56, 0.01234567, 0.0, 7.0].map(four), ["1235", "0.01235", "0", "7.000"]);
        assert_eq!([0.126, 0.0345, -0.00002].map(percent), ["13 %", "3.5 %", "-2.0e-3 %"]);
    }
}
