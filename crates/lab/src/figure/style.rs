//! How series are told apart: colour, dash and mark, each by itself as far as it goes.

use super::Series;

/// Colours that differ for every kind of eye and are dark enough for paper: Okabe and Ito's without the yellow, then
/// three of Tol's.
const COLOURS: [&str; 10] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#282828", "#882255", "#999933",
    "#332288",
];

/// How broken lines are broken: dash, gap, and so on.
const DASHES: [&str; 4] = ["7 4", "2 3", "9 3 2 3", "14 4"];

/// The shape of a mark. Each has an inside, because what papers printed is drawn hollow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Circle,
    Triangle,
    Square,
    Diamond,
    Left,
    Wedge,
    Right,
}

const SHAPES: [Shape; 7] =
    [Shape::Circle, Shape::Triangle, Shape::Square, Shape::Diamond, Shape::Left, Shape::Wedge, Shape::Right];

/// How one series looks. No two of the first seventy look alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) colour: &'static str,
    pub(super) dash: &'static str,
    pub(super) shape: Shape,
}

impl Style {
    fn number(number: usize) -> Self {
        Style {
            colour: COLOURS[number % COLOURS.len()],
            dash: DASHES[number % DASHES.len()],
            shape: SHAPES[number % SHAPES.len()],
        }
    }
}

/// A style for each series. One that is like another has that one's colour and shape.
pub(super) fn styles(series: &[Series]) -> Vec<Style> {
    let is_own =
        |one: &Series| one.like.as_ref().is_none_or(|like| series.iter().all(|other| other.name != *like));
    let own: Vec<&Series> = series.iter().filter(|one| is_own(one)).collect();
    let of = |one: &Series| {
        let name = if is_own(one) { &one.name } else { one.like.as_ref().unwrap_or(&one.name) };
        own.iter().position(|other| other.name == *name).unwrap_or_default()
    };
    series.iter().map(|one| Style::number(of(one))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(names: impl IntoIterator<Item = String>) -> Vec<Series> {
        names.into_iter().map(|name| Series::line(name, [(0.0, 0.0)])).collect()
    }

    #[test]
    fn nine_series_have_nine_styles_and_seventy_do() {
        for number in [9, 70] {
            let styles = styles(&series((0..number).map(|name| name.to_string())));
            for (at, style) in styles.iter().enumerate() {
                assert!(!styles[..at].contains(style), "{number} series: {style:?} twice");
            }
        }
    }

    #[test]
    fn nine_series_differ_in_colour_alone_and_neighbours_in_shape_alone() {
        let styles = styles(&series((0..9).map(|name| name.to_string())));
        for (at, style) in styles.iter().enumerate() {
            assert!(styles[..at].iter().all(|other| other.colour != style.colour), "{style:?}");
        }
        assert!(styles.windows(2).all(|two| two[0].shape != two[1].shape));
    }

    #[test]
    fn a_series_that_is_like_another_has_its_colour_and_takes_none_away() {
        let mut all = series(["a", "a, formula", "b", "odd"].map(String::from));
        all[1] = all[1].clone().like("a");
        all[3] = all[3].clone().like("nobody");
        let styles = styles(&all);
        assert_eq!(styles[0], styles[1]);
        assert_eq!(styles[2].colour, COLOURS[1]);
        assert_eq!(styles[3].colour, COLOURS[2]);
    }
}
