//! Drawing a figure as SVG: a plane with a grid, the series on it, and the legend below.

use maud::{Markup, html};

use super::style::{Shape, Style, styles};
use super::ticks::{Scale, Tick};
use super::{Figure, Mark, Point, Series, legend};

/// Width of a figure, in SVG units; the page scales it.
const WIDTH: f64 = 560.0;

/// The plane: what is left of it for the numbers, above it, and how large it is.
const LEFT: f64 = 66.0;
const TOP: f64 = 10.0;
const PLANE_WIDTH: f64 = WIDTH - LEFT - 16.0;
const PLANE_HEIGHT: f64 = 290.0;

/// Below the plane: numbers and the name of the axis.
const BELOW: f64 = 46.0;

/// Half the size of a mark.
const MARK_SIZE: f64 = 3.8;

/// Where the legend begins.
const LEGEND_LEFT: f64 = 12.0;

/// A plane with two axes.
struct Plane {
    x: Scale,
    y: Scale,
}

impl Plane {
    /// Where a point is drawn, if it has a place.
    fn at(&self, point: &Point) -> Option<(f64, f64)> {
        Some((across(self.x.share(point.x)?), up(self.y.share(point.y)?)))
    }
}

fn across(share: f64) -> f64 {
    LEFT + share * PLANE_WIDTH
}

fn up(share: f64) -> f64 {
    TOP + (1.0 - share) * PLANE_HEIGHT
}

/// A coordinate: a tenth of a unit is finer than any screen.
pub(super) fn at(place: f64) -> String {
    format!("{place:.1}")
}

impl Figure {
    /// The figure as an SVG document.
    pub fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| series.points.iter().chain(&series.printed));
        let heights = points().flat_map(|point| {
            let (low, high) = point.range.unwrap_or((point.y, point.y));
            [point.y, low, high]
        });
        let plane =
            Plane { x: Scale::of(&self.x, points().map(|point| point.x)), y: Scale::of(&self.y, heights) };
        let styles = styles(&self.series);
        let entries = legend::entries(self, &styles, WIDTH - 2.0 * LEGEND_LEFT);
        let below = TOP + PLANE_HEIGHT + BELOW;
        let height = below + legend::height(&entries) + 6.0;
        let document = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (height) } width=(WIDTH)
                height=(height) role="img" aria-label=(self.title) font-family="sans-serif" font-size="12" {
                (grid(&plane))
                (self.axis_names())
                @for (series, style) in self.series.iter().zip(&styles) { (drawn(&plane, series, *style)) }
                (legend::draw(&entries, (LEGEND_LEFT, below)))
            }
        };
        document.into_string()
    }

    fn axis_names(&self) -> Markup {
        let x = at(across(0.5));
        let y = at(TOP + PLANE_HEIGHT + 38.0);
        let side = at(14.0);
        let middle = at(up(0.5));
        html! {
            text x=(x) y=(y) text-anchor="middle" font-size="13" { (self.x.label) }
            text x=(side) y=(middle) text-anchor="middle" font-size="13"
                transform={ "rotate(-90 " (side) " " (middle) ")" } { (self.y.label) }
        }
    }
}

/// Light lines at the numbers, the numbers, and the frame.
fn grid(plane: &Plane) -> Markup {
    let left = at(across(0.0));
    let right = at(across(1.0));
    let top = at(up(1.0));
    let bottom = at(up(0.0));
    let x_at = |tick: &Tick| at(across(plane.x.share_of_place(tick.place)));
    let y_at = |tick: &Tick| up(plane.y.share_of_place(tick.place));
    html! {
        @for tick in plane.x.ticks() {
            line x1=(x_at(&tick)) y1=(top) x2=(x_at(&tick)) y2=(bottom) stroke="#e2e2e2" {}
            text x=(x_at(&tick)) y=(at(up(0.0) + 17.0)) text-anchor="middle" { (tick.text) }
        }
        @for tick in plane.y.ticks() {
            line x1=(left) y1=(at(y_at(&tick))) x2=(right) y2=(at(y_at(&tick))) stroke="#e2e2e2" {}
            text x=(at(LEFT - 6.0)) y=(at(y_at(&tick) + 4.0)) text-anchor="end" { (tick.text) }
        }
        rect x=(left) y=(top) width=(at(PLANE_WIDTH)) height=(at(PLANE_HEIGHT)) fill="none" stroke="#555" {}
    }
}

fn drawn(plane: &Plane, series: &Series, style: Style) -> Markup {
    let places: Vec<(f64, f64)> = series.points.iter().filter_map(|point| plane.at(point)).collect();
    let path: Vec<String> = places.iter().map(|(x, y)| format!("{},{}", at(*x), at(*y))).collect();
    let dash = if series.mark == Mark::Dashed { style.dash } else { "none" };
    html! {
        @if series.mark != Mark::Points && places.len() > 1 {
            polyline points=(path.join(" ")) fill="none" stroke=(style.colour) stroke-width="2"
                stroke-dasharray=(dash) {}
        }
        @for point in series.points.iter().chain(&series.printed) { (bar(plane, point, style)) }
        @if series.mark != Mark::Dashed {
            @for place in &places { (mark(style, *place)) }
        }
        @for place in series.printed.iter().filter_map(|point| plane.at(point)) { (printed_mark(style, place)) }
    }
}

/// How far a point may be off.
fn bar(plane: &Plane, point: &Point, style: Style) -> Markup {
    let Some(((low, high), x)) = point.range.zip(plane.x.share(point.x)) else {
        return html! {};
    };
    let x = at(across(x));
    let ends = [low, high].map(|end| at(up(plane.y.share_within(end))));
    html! { line x1=(x) y1=(ends[0]) x2=(x) y2=(ends[1]) stroke=(style.colour) {} }
}

/// A filled mark.
pub(super) fn mark(style: Style, place: (f64, f64)) -> Markup {
    shape(style.shape, place, MARK_SIZE, style.colour, style.colour)
}

/// A mark of what a paper printed: hollow and larger, so that ours inside it can be seen.
pub(super) fn printed_mark(style: Style, place: (f64, f64)) -> Markup {
    shape(style.shape, place, MARK_SIZE + 2.0, "none", style.colour)
}

fn shape(shape: Shape, (x, y): (f64, f64), size: f64, fill: &str, stroke: &str) -> Markup {
    let corners = |corners: &[(f64, f64)]| {
        let corners = corners.iter().map(|(dx, dy)| format!("{},{}", at(x + dx * size), at(y + dy * size)));
        corners.collect::<Vec<_>>().join(" ")
    };
    let polygon = match shape {
        Shape::Circle => {
            let x = at(x);
            let y = at(y);
            let r = at(size);
            return html! { circle cx=(x) cy=(y) r=(r) fill=(fill) stroke=(stroke) stroke-width="1.5" {} };
        }
        Shape::Triangle => corners(&[(0.0, -1.2), (1.1, 0.9), (-1.1, 0.9)]),
        Shape::Wedge => corners(&[(0.0, 1.2), (1.1, -0.9), (-1.1, -0.9)]),
        Shape::Left => corners(&[(-1.2, 0.0), (0.9, 1.1), (0.9, -1.1)]),
        Shape::Right => corners(&[(1.2, 0.0), (-0.9, 1.1), (-0.9, -1.1)]),
        Shape::Square => corners(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        Shape::Diamond => corners(&[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)]),
    };
    html! { polygon points=(polygon) fill=(fill) stroke=(stroke) stroke-width="1.5" {} }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Axis;

    fn figure(y: Axis, points: &[(f64, f64)]) -> Figure {
        Figure {
            title: "Rates".into(),
            caption: String::new(),
            x: Axis::linear("k"),
            y,
            series: vec![
                Series::line("measured <here>", points.iter().copied()).printed(points.iter().copied()),
                Series::dashed("formula", points.iter().copied()),
                Series::points("others", points.iter().copied()),
            ],
        }
    }

    #[test]
    fn every_series_is_drawn_and_named() {
        let svg = figure(Axis::linear("rate"), &[(1.0, 0.5), (2.0, 0.25)]).svg();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"), "{svg}");
        for name in ["measured &lt;here&gt;", "formula", "others", "hollow: printed", "rate"] {
            assert!(svg.contains(name), "{name} is missing");
        }
        assert_eq!(svg.matches("<polyline").count(), 2);
        for element in ["line", "polyline", "circle", "polygon", "text", "rect", "svg"] {
            let opened = format!("<{element} ");
            let closed = format!("</{element}>");
            assert_eq!(
                svg.matches(&opened).count(),
                svg.matches(&closed).count(),
                "SVG files are XML: {element}"
            );
        }
    }

    #[test]
    fn printed_values_have_the_colour_of_their_own_line_and_are_hollow() {
        let svg = figure(Axis::linear("rate"), &[(1.0, 0.5), (2.0, 0.25)]).svg();
        let colour =
            svg.split("<polyline").nth(1).and_then(|line| line.split("stroke=\"").nth(1)).expect("a line");
        let colour = &colour[..7];
        let hollow = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"");
        assert_eq!(svg.matches(&hollow).count(), 2, "{svg}");
    }

    #[test]
    fn what_a_log_axis_has_no_place_for_is_left_out() {
        let svg = figure(Axis::log("rate"), &[(1.0, 0.0), (2.0, 1e-7), (3.0, 1e-2)]).svg();
        assert!(svg.contains(">1e-6<"), "powers of ten on the axis");
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn the_legend_lies_below_everything_that_is_drawn() {
        let svg = figure(Axis::linear("rate"), &[(1.0, 0.5), (2.0, 0.25)]).svg();
        let text = svg.split("<text").find(|text| text.contains("formula")).expect("an entry");
        let y = text.split("y=\"").nth(1).and_then(|y| y.split('"').next()).expect("a place");
        assert!(y.parse::<f64>().expect("a number") > TOP + PLANE_HEIGHT + 40.0, "{text}");
    }

    #[test]
    fn no_points_at_all_are_an_empty_figure() {
        assert!(figure(Axis::linear("rate"), &[]).svg().contains("<rect"));
    }
}
