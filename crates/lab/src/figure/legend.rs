//! The legend: below the plane, in rows, so that it never hides what is drawn.

use maud::{Markup, html};

use super::draw::{at, mark, printed_mark};
use super::style::{Shape, Style};
use super::{Figure, Mark};

/// The height of a row.
const ROW_HEIGHT: f64 = 18.0;

/// What is drawn before a name, and the gap behind it.
const SAMPLE_WIDTH: f64 = 30.0;

/// About as wide as a letter is at this size, on the generous side.
const LETTER_WIDTH: f64 = 6.4;

/// Between two names of a row.
const GAP: f64 = 16.0;

/// What the entry of all that papers printed is called.
const PRINTED: &str = "hollow: printed";

/// A name in the legend, and where it stands, from the legend's upper left corner.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry<'a> {
    name: &'a str,
    /// None for what papers printed.
    style: Option<(Style, Mark)>,
    x: f64,
    row: usize,
}

/// The entries of a figure, in rows of at most this width. One series alone needs none: the axis names it.
pub(super) fn entries<'a>(figure: &'a Figure, styles: &[Style], width: f64) -> Vec<Entry<'a>> {
    let has_printed = figure.series.iter().any(|series| !series.printed.is_empty());
    if figure.series.len() < 2 && !has_printed {
        return Vec::new();
    }
    let named = figure.series.iter().zip(styles);
    let named = named.map(|(series, style)| (series.name.as_str(), Some((*style, series.mark))));
    let mut x = 0.0;
    let mut row = 0;
    let placed = named.chain(has_printed.then_some((PRINTED, None))).map(|(name, style)| {
        let needed = SAMPLE_WIDTH + name.chars().count() as f64 * LETTER_WIDTH;
        if x > 0.0 && x + needed > width {
            (x, row) = (0.0, row + 1);
        }
        let entry = Entry { name, style, x, row };
        x += needed + GAP;
        entry
    });
    placed.collect()
}

/// How high these entries are together.
pub(super) fn height(entries: &[Entry<'_>]) -> f64 {
    entries.last().map_or(0.0, |last| (last.row + 1) as f64 * ROW_HEIGHT)
}

/// Draws the entries below and to the right of a place.
pub(super) fn draw(entries: &[Entry<'_>], (left, top): (f64, f64)) -> Markup {
    html! {
        @for entry in entries {
            @let (x, y) = (left + entry.x, top + (entry.row as f64 + 0.5) * ROW_HEIGHT);
            (sample(entry.style, (x, y)))
            text x=(at(x + SAMPLE_WIDTH)) y=(at(y + 4.0)) { (entry.name) }
        }
    }
}

fn sample(style: Option<(Style, Mark)>, (x, y): (f64, f64)) -> Markup {
    let from = x;
    let middle = (x + 12.0, y);
    let to = x + 24.0;
    let Some((style, kind)) = style else {
        return printed_mark(Style { colour: "#555", dash: "", shape: Shape::Circle }, middle);
    };
    let dash = if kind == Mark::Dashed { style.dash } else { "none" };
    html! {
        @if kind != Mark::Points {
            line x1=(at(from)) y1=(at(y)) x2=(at(to)) y2=(at(y)) stroke=(style.colour) stroke-width="2"
                stroke-dasharray=(dash) {}
        }
        @if kind != Mark::Dashed { (mark(style, middle)) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::style::styles;
    use super::super::{Axis, Series};
    use super::*;

    fn figure(series: Vec<Series>) -> Figure {
        let x = Axis::linear("x");
        let y = Axis::linear("y");
        Figure { title: String::new(), caption: String::new(), x, y, series }
    }

    #[test]
    fn every_series_is_named_once_within_the_width() {
        let figure =
            figure((0..9).map(|k| Series::line(format!("intuitive, k = {k}"), [(0.0, 0.0)])).collect());
        let entries = entries(&figure, &styles(&figure.series), 500.0);
        assert_eq!(entries.len(), 9);
        for entry in &entries {
            assert!(entry.x + SAMPLE_WIDTH + entry.name.len() as f64 * LETTER_WIDTH <= 500.0, "{entry:?}");
        }
        assert!(height(&entries) >= 3.0 * ROW_HEIGHT, "three to a row");
    }

    #[test]
    fn what_papers_printed_is_named_once_however_many_lines_have_it() {
        let line = |name: &str| Series::line(name, [(0.0, 0.0)]).printed([(0.0, 1.0)]);
        let figure = figure(vec![line("a"), line("b")]);
        let entries = entries(&figure, &styles(&figure.series), 500.0);
        assert_eq!(entries.iter().map(|entry| entry.name).collect::<Vec<_>>(), ["a", "b", PRINTED]);
    }

    #[test]
    fn one_series_alone_needs_no_legend() {
        let figure = figure(vec![Series::line("a", [(0.0, 0.0)])]);
        assert_eq!(height(&entries(&figure, &styles(&figure.series), 500.0)), 0.0);
    }
}
