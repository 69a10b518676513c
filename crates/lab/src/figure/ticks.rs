//! Where an axis goes from and to, and which numbers stand beside it: round ones, in the shortest form.

use super::Axis;

/// The most powers of ten on an axis: what is smaller still would press the rest together.
const DECADES_MAX: f64 = 12.0;

/// About so many numbers fit beside an axis.
const TICKS_WANTED: f64 = 7.0;

/// A number beside an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// Where it stands: the value, or its logarithm.
    pub(super) place: f64,
    pub(super) text: String,
}

/// From where to where an axis goes, in places: values, or their logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    is_log: bool,
}

impl Scale {
    /// An axis for all these values, with some room at both ends.
    pub(super) fn of(axis: &Axis, values: impl Iterator<Item = f64>) -> Self {
        let unit = Scale { low: 0.0, high: 1.0, is_log: axis.log };
        let (low, high) = values
            .filter_map(|value| unit.place(value))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), place| (low.min(place), high.max(place)));
        if low > high {
            return unit;
        }
        let low = if axis.log { low.max(high - DECADES_MAX) } else { low };
        let span = high - low;
        let room = if span == 0.0 { 0.5 } else { span * 0.05 };
        // An axis that begins near zero begins at zero.
        let low = if !axis.log && low >= 0.0 && low < span { 0.0 } else { low - room };
        Scale { low, high: high + room, ..unit }
    }

    /// Where a value stands, if it has a place on such an axis.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let place = if self.is_log { value.log10() } else { value };
        place.is_finite().then_some(place)
    }

    /// How far up the axis a value stands, from 0 to 1; none where it is beyond the ends.
    pub(super) fn share(&self, value: f64) -> Option<f64> {
        let share = self.share_of_place(self.place(value)?);
        (-1e-9..=1.0 + 1e-9).contains(&share).then_some(share)
    }

    /// The same, with what is beyond the ends drawn at the ends: an interval that reaches below zero still has a bar.
    pub(super) fn share_within(&self, value: f64) -> f64 {
        self.share_of_place(self.place(value).unwrap_or(self.low)).clamp(0.0, 1.0)
    }

    pub(super) fn share_of_place(&self, place: f64) -> f64 {
        (place - self.low) / (self.high - self.low)
    }

    /// The numbers beside the axis.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        if self.is_log { self.log_ticks() } else { self.linear_ticks() }
    }

    /// Multiples of 1, 2 or 5 times a power of ten.
    fn linear_ticks(&self) -> Vec<Tick> {
        let (mantissa, exponent) = step((self.high - self.low) / TICKS_WANTED);
        let size = mantissa as f64 * power(exponent);
        let first = (self.low / size - 1e-9).ceil() as i64;
        let last = (self.high / size + 1e-9).floor() as i64;
        let ticks = (first..=last).map(|number| {
            let digits = number * mantissa;
            Tick { place: scaled(digits, exponent), text: number_text(digits, exponent) }
        });
        ticks.collect()
    }

    /// Powers of ten; where there are few of them also 2 and 5 times those; where there are none, round values.
    fn log_ticks(&self) -> Vec<Tick> {
        let at = |digits: i64, exponent: i32| {
            let place = (digits as f64).log10() + f64::from(exponent);
            let is_inside = (self.low - 1e-9..=self.high + 1e-9).contains(&place);
            is_inside.then(|| Tick { place, text: number_text(digits, exponent) })
        };
        let decades = self.low.floor() as i32..=self.high.ceil() as i32;
        let powers: Vec<Tick> = decades.clone().filter_map(|exponent| at(1, exponent)).collect();
        if powers.len() >= 3 {
            let every = powers.len().div_ceil(TICKS_WANTED as usize + 1);
            // Counted from 1, so that thinned numbers are the same ones on every axis.
            return decades
                .filter(|exponent| *exponent % every as i32 == 0)
                .filter_map(|e| at(1, e))
                .collect();
        }
        let few: Vec<Tick> = decades.flat_map(|e| [1, 2, 5].map(|digits| at(digits, e))).flatten().collect();
        if few.len() >= 3 {
            return few;
        }
        let values = Scale { low: 10f64.powf(self.low), high: 10f64.powf(self.high), is_log: false };
        let round = values.linear_ticks().into_iter().filter(|tick| tick.place > 0.0);
        round.map(|tick| Tick { place: tick.place.log10(), ..tick }).collect()
    }
}

/// The next step of 1, 2 or 5 times a power of ten that is no smaller.
fn step(least: f64) -> (i64, i32) {
    let exponent = least.log10().floor() as i32;
    let mantissa =
        [1, 2, 5].into_iter().find(|&mantissa| mantissa as f64 * power(exponent) >= least * (1.0 - 1e-9));
    mantissa.map_or((1, exponent + 1), |mantissa| (mantissa, exponent))
}

fn power(exponent: i32) -> f64 {
    10f64.powi(exponent)
}

/// Divided rather than multiplied by a fraction, so that 3 tenths are 0.3.
fn scaled(digits: i64, exponent: i32) -> f64 {
    if exponent < 0 { digits as f64 / power(-exponent) } else { digits as f64 * power(exponent) }
}

/// `digits` times a power of ten, exactly, in the shorter form.
fn number_text(mut digits: i64, mut exponent: i32) -> String {
    if digits == 0 {
        return "0".into();
    }
    while digits % 10 == 0 {
        (digits, exponent) = (digits / 10, exponent + 1);
    }
    let sign = if digits < 0 { "-" } else { "" };
    let text = digits.unsigned_abs().to_string();
    let magnitude = exponent + text.len() as i32 - 1;
    if !(-3..6).contains(&magnitude) {
        let (first, rest) = text.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{sign}{first}{point}{rest}e{magnitude}");
    }
    if exponent >= 0 {
        return format!("{sign}{text}{}", "0".repeat(exponent as usize));
    }
    let whole = text.len() as i32 + exponent;
    if whole <= 0 {
        return format!("{sign}0.{}{text}", "0".repeat(-whole as usize));
    }
    let (whole, fraction) = text.split_at(whole as usize);
    format!("{sign}{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: Axis, values: &[f64]) -> Vec<String> {
        let scale = Scale::of(&axis, values.iter().copied());
        scale.ticks().into_iter().map(|tick| tick.text).collect()
    }

    #[test]
    fn a_linear_axis_through_zero_has_a_plain_zero_not_minus_5_6e_17() {
        assert_eq!(
            texts(Axis::linear(""), &[-0.3, 0.31]),
            ["-0.3", "-0.2", "-0.1", "0", "0.1", "0.2", "0.3"]
        );
        assert_eq!(texts(Axis::linear(""), &[-4.0, 31.0]), ["0", "10", "20", "30"]);
    }

    #[test]
    fn linear_ticks_are_round_numbers() {
        assert_eq!(texts(Axis::linear(""), &[0.0, 1.0]), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(texts(Axis::linear(""), &[80.0, 660.0]), ["0", "100", "200", "300", "400", "500", "600"]);
        assert_eq!(texts(Axis::linear(""), &[0.9996, 1.0004])[0], "0.9996");
        assert_eq!(texts(Axis::linear(""), &[0.0, 3e7]), ["0", "5e6", "1e7", "1.5e7", "2e7", "2.5e7", "3e7"]);
        assert_eq!(texts(Axis::linear(""), &[0.0, 4e-6]), ["0", "1e-6", "2e-6", "3e-6", "4e-6"]);
    }

    #[test]
    fn a_log_axis_ticks_at_powers_of_ten_not_at_0_0316() {
        assert_eq!(texts(Axis::log(""), &[0.001, 1.0]), ["0.001", "0.01", "0.1", "1"]);
        assert_eq!(texts(Axis::log(""), &[1e-9, 1.0]), ["1e-8", "1e-6", "1e-4", "0.01", "1"]);
    }

    #[test]
    fn a_short_log_axis_ticks_at_2_and_5_as_well_or_at_round_values() {
        assert_eq!(texts(Axis::log(""), &[0.01, 0.5]), ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5"]);
        assert_eq!(texts(Axis::log(""), &[0.31, 0.45]), ["0.35", "0.4", "0.45"]);
    }

    #[test]
    fn one_value_and_none_have_an_axis_as_well() {
        assert!(texts(Axis::linear(""), &[3.0]).contains(&"3".to_owned()));
        assert!(texts(Axis::log(""), &[100.0]).contains(&"100".to_owned()));
        assert!(!texts(Axis::linear(""), &[]).is_empty());
        assert!(!texts(Axis::log(""), &[0.0, -1.0]).is_empty());
    }

    #[test]
    fn what_is_beyond_the_ends_is_left_out_and_bars_end_there() {
        let scale = Scale::of(&Axis::log(""), [1e-20, 1.0].into_iter());
        assert_eq!(scale.share(1e-20), None);
        assert_eq!(scale.share(0.0), None);
        assert_eq!(scale.share_within(-1.0), 0.0);
        assert_eq!(scale.share_within(1e9), 1.0);
    }
}
