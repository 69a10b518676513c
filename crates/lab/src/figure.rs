//! Figures: what to draw, and drawing it as SVG that reads well on paper, also without colour.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use crate::bench::LabError;

/// Width and height of a figure, in SVG units.
const SIZE: (u32, u32) = (620, 400);

/// Colours that differ for every kind of eye, dark enough for paper (Okabe and Ito, without the yellow).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(40, 40, 40),
];

/// The most powers of ten on an axis: what is smaller still would press the rest together.
const DECADES_MAX: f64 = 12.0;

/// A figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// What to see in it, and what was measured.
    pub caption: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn.
    pub series: Vec<Series>,
}

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What it measures, with its unit.
    pub label: String,
    /// In powers of ten. Values that are not positive are left out.
    pub log: bool,
}

impl Axis {
    /// In equal steps.
    pub fn linear(label: impl Into<String>) -> Self {
        Axis { label: label.into(), log: false }
    }

    /// In powers of ten.
    pub fn log(label: impl Into<String>) -> Self {
        Axis { label: label.into(), log: true }
    }

    fn place(&self, value: f64) -> Option<f64> {
        let place = if self.log { value.log10() } else { value };
        place.is_finite().then_some(place)
    }

    fn tick(&self, place: f64) -> String {
        if !self.log {
            return short(place);
        }
        if (place - place.round()).abs() < 1e-6 && !(-3.0..=5.0).contains(&place) {
            return format!("1e{}", place.round());
        }
        // Between powers of ten three digits are enough.
        let scale = 10f64.powf((place.floor() - 2.0).min(0.0));
        short((10f64.powf(place) / scale).round() * scale)
    }
}

/// A few digits of a number, in the form that is shorter.
fn short(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e6).contains(&size) {
        return format!("{value:.1e}").replace(".0e", "e");
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Points of one name.
#[derive(Clone, Debug)]
pub struct Series {
    /// As the legend has it.
    pub name: String,
    /// How they are drawn.
    pub mark: Mark,
    /// What they are.
    pub points: Vec<Point>,
}

/// How points are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line through the points, with a mark on each.
    Line,
    /// A broken line: formulas, bounds, what others printed.
    Dashed,
    /// Marks alone.
    Points,
}

/// A point, and how far it may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Across.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// From where to where it may really lie.
    pub range: Option<(f64, f64)>,
}

impl From<(f64, f64)> for Point {
    fn from((x, y): (f64, f64)) -> Self {
        Point { x, y, range: None }
    }
}

impl Series {
    /// Points joined by a line.
    pub fn line<P: Into<Point>>(name: impl Into<String>, points: impl IntoIterator<Item = P>) -> Self {
        Series { name: name.into(), mark: Mark::Line, points: points.into_iter().map(Into::into).collect() }
    }

    /// A broken line.
    pub fn dashed<P: Into<Point>>(name: impl Into<String>, points: impl IntoIterator<Item = P>) -> Self {
        Series { mark: Mark::Dashed, ..Series::line(name, points) }
    }

    /// Marks alone.
    pub fn points<P: Into<Point>>(name: impl Into<String>, points: impl IntoIterator<Item = P>) -> Self {
        Series { mark: Mark::Points, ..Series::line(name, points) }
    }
}

type Plane<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawing<T, E = DrawingAreaErrorKind<std::io::Error>> = Result<T, E>;

/// A mark at each place; the same shape is of one type on the plane and of another in the legend, hence a macro.
macro_rules! marks {
    ($plane:ident, $series:ident, $places:ident, |$at:ident| $shape:expr) => {{
        let drawn = $plane.draw_series($places.into_iter().map(|$at| $shape))?;
        if $series.mark == Mark::Points {
            drawn.label(&$series.name).legend(move |(x, y)| {
                let $at = (x + 9, y);
                $shape
            });
        }
    }};
}

impl Figure {
    /// The figure as an SVG document.
    pub fn svg(&self) -> Result<String, LabError> {
        let mut svg = String::new();
        self.draw(SVGBackend::with_string(&mut svg, SIZE).into_drawing_area())
            .map_err(|error| LabError::Figure { title: self.title.clone(), why: error.to_string() })?;
        Ok(svg)
    }

    fn draw(&self, area: DrawingArea<SVGBackend<'_>, Shift>) -> Drawing<()> {
        let ranges =
            [range(&self.x, self.places(|point| vec![point.x])), range(&self.y, self.places(heights))];
        let [(x_low, x_high), (y_low, y_high)] = ranges;
        let mut plane = ChartBuilder::on(&area)
            .margin(10)
            .x_label_area_size(42)
            .y_label_area_size(64)
            .build_cartesian_2d(x_low..x_high, y_low..y_high)?;
        plane
            .configure_mesh()
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .x_label_formatter(&|place| self.x.tick(*place))
            .y_label_formatter(&|place| self.y.tick(*place))
            .x_labels(8)
            .y_labels(8)
            .label_style(("sans-serif", 13))
            .axis_desc_style(("sans-serif", 14))
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(225, 225, 225))
            .draw()?;
        for (number, series) in self.series.iter().enumerate() {
            self.draw_series(&mut plane, number, series)?;
        }
        if self.series.len() > 1 {
            plane
                .configure_series_labels()
                .position(self.legend_position([(x_low, x_high), (y_low, y_high)]))
                .background_style(WHITE.mix(0.85))
                .border_style(RGBColor(200, 200, 200))
                .label_font(("sans-serif", 13))
                .draw()?;
        }
        area.present()
    }

    fn draw_series<'a>(&self, plane: &mut Plane<'a>, number: usize, series: &Series) -> Drawing<()> {
        let colour = COLOURS[number % COLOURS.len()];
        let line = colour.stroke_width(2);
        let places: Vec<(f64, f64)> =
            series.points.iter().filter_map(|point| self.place(point.x, point.y)).collect();
        match series.mark {
            Mark::Dashed => {
                let dashed = DashedLineSeries::new(places.iter().copied(), 6, 4, line);
                plane.draw_series(dashed)?.label(&series.name).legend(move |(x, y)| {
                    let dash = |from| PathElement::new([(from, 0), (from + 7, 0)], line);
                    EmptyElement::at((x, y)) + dash(0) + dash(11)
                });
                return Ok(());
            }
            Mark::Line => {
                let joined = LineSeries::new(places.iter().copied(), line);
                plane
                    .draw_series(joined)?
                    .label(&series.name)
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], line));
            }
            Mark::Points => {}
        }
        let bars = series.points.iter().filter_map(|point| {
            let (low, high) = point.range?;
            Some((self.place(point.x, low)?, self.place(point.x, high)?))
        });
        plane.draw_series(bars.map(|(low, high)| PathElement::new([low, high], colour.stroke_width(1))))?;
        // Another shape for each series, so that a copy without colour can be read.
        match number % 3 {
            0 => marks!(plane, series, places, |at| Circle::new(at, 4, colour.filled())),
            1 => marks!(plane, series, places, |at| TriangleMarker::new(at, 6, colour.filled())),
            _ => marks!(plane, series, places, |at| Cross::new(at, 4, colour.stroke_width(2))),
        }
        Ok(())
    }

    /// Where a legend hides the least of what is drawn.
    fn legend_position(&self, [(x_low, x_high), (y_low, y_high)]: [(f64, f64); 2]) -> SeriesLabelPosition {
        use SeriesLabelPosition::*;
        let longest = self.series.iter().map(|series| series.name.chars().count()).max().unwrap_or(0);
        // About seven units a letter and seventeen a line, on a plane somewhat smaller than the figure.
        let width = (longest as f64 * 7.0 + 55.0) / 530.0;
        let height = (self.series.len() as f64 * 17.0 + 20.0) / 330.0;
        let spots = [
            (UpperRight, 1.0 - width, 1.0 - height),
            (UpperLeft, 0.0, 1.0 - height),
            (LowerRight, 1.0 - width, 0.0),
            (LowerLeft, 0.0, 0.0),
            (MiddleRight, 1.0 - width, 0.5 - height / 2.0),
            (MiddleLeft, 0.0, 0.5 - height / 2.0),
            (UpperMiddle, 0.5 - width / 2.0, 1.0 - height),
            (LowerMiddle, 0.5 - width / 2.0, 0.0),
            (MiddleMiddle, 0.5 - width / 2.0, 0.5 - height / 2.0),
        ];
        let scaled = |(x, y): (f64, f64)| ((x - x_low) / (x_high - x_low), (y - y_low) / (y_high - y_low));
        let mut drawn = Vec::new();
        for series in &self.series {
            let places = series.points.iter().filter_map(|point| self.place(point.x, point.y));
            let places: Vec<(f64, f64)> = places.map(scaled).collect();
            drawn.extend(&places);
            let bars = series.points.iter().filter_map(|point| {
                let (low, high) = point.range?;
                Some([self.place(point.x, low)?, self.place(point.x, high)?].map(scaled))
            });
            drawn.extend(bars.flat_map(|[low, high]| between(low, high)));
            if series.mark != Mark::Points {
                drawn.extend(places.windows(2).flat_map(|two| between(two[0], two[1])));
            }
        }
        let hidden = |left: f64, low: f64| {
            let inside = |&&(x, y): &&(f64, f64)| {
                (left..=left + width).contains(&x) && (low..=low + height).contains(&y)
            };
            drawn.iter().filter(inside).count()
        };
        let best = spots.into_iter().min_by_key(|(_, left, low)| hidden(*left, *low));
        best.map_or(UpperRight, |(position, ..)| position)
    }

    fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.x.place(x)?, self.y.place(y)?))
    }

    fn places(&self, of: impl Fn(&Point) -> Vec<f64>) -> Vec<f64> {
        self.series.iter().flat_map(|series| &series.points).flat_map(of).collect()
    }
}

/// Places on the line between two.
fn between(from: (f64, f64), to: (f64, f64)) -> impl Iterator<Item = (f64, f64)> {
    const STEPS: u32 = 20;
    (1..STEPS).map(move |step| {
        let share = f64::from(step) / f64::from(STEPS);
        (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share)
    })
}

fn heights(point: &Point) -> Vec<f64> {
    let (low, high) = point.range.unwrap_or((point.y, point.y));
    vec![point.y, low, high]
}

/// From where to where an axis goes, with some room at both ends.
fn range(axis: &Axis, values: Vec<f64>) -> (f64, f64) {
    let places = values.into_iter().filter_map(|value| axis.place(value));
    let (low, high) = places
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), place| (low.min(place), high.max(place)));
    if low > high {
        return (0.0, 1.0);
    }
    let low = if axis.log { low.max(high - DECADES_MAX) } else { low };
    let room = ((high - low) * 0.05).max(if high == low { 0.5 } else { 0.0 });
    // An axis that begins near zero begins at zero.
    let from = if !axis.log && low >= 0.0 && low < (high - low) { 0.0 } else { low - room };
    (from, high + room)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(y: Axis, points: &[(f64, f64)]) -> Figure {
        Figure {
            title: "Rates".into(),
            caption: String::new(),
            x: Axis::linear("k"),
            y,
            series: vec![
                Series::line("measured <here>", points.iter().copied()),
                Series::dashed("formula", points.iter().copied()),
                Series::points("printed", points.iter().copied()),
            ],
        }
    }

    #[test]
    fn every_series_is_drawn_and_named() {
        let svg = figure(Axis::linear("rate"), &[(1.0, 0.5), (2.0, 0.25)]).svg().expect("drawn");
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
        for name in ["measured &lt;here&gt;", "formula", "printed", "rate"] {
            assert!(svg.contains(name), "{name} is missing");
        }
        assert!(svg.matches("<circle").count() >= 2, "a mark on each point");
    }

    #[test]
    fn what_a_log_axis_has_no_place_for_is_left_out() {
        let svg = figure(Axis::log("rate"), &[(1.0, 0.0), (2.0, 1e-7), (3.0, 1e-2)]).svg().expect("drawn");
        assert!(svg.contains("1e-6"), "powers of ten on the axis");
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn the_legend_goes_where_nothing_is_drawn() {
        let of = |points: &[(f64, f64)]| {
            figure(Axis::linear("rate"), points).legend_position([(0.0, 1.0), (0.0, 1.0)])
        };
        assert!(matches!(of(&[(0.0, 0.0), (1.0, 1.0)]), SeriesLabelPosition::UpperLeft));
        assert!(matches!(of(&[(0.0, 1.0), (1.0, 0.0)]), SeriesLabelPosition::UpperRight));
    }

    #[test]
    fn no_points_at_all_are_an_empty_figure() {
        assert!(figure(Axis::linear("rate"), &[]).svg().is_ok());
    }

    #[test]
    fn ticks_are_short() {
        let ticks = |axis: Axis| [0.0, 1.5, -4.0].map(|place| axis.tick(place));
        assert_eq!(ticks(Axis::linear("")), ["0", "1.5", "-4"]);
        assert_eq!(ticks(Axis::log("")), ["1", "31.6", "1e-4"]);
    }
}
