//! Figures: what to draw. `draw` makes SVG of it that reads well on paper, also without colour.

mod draw;
mod legend;
mod style;
mod ticks;

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
    /// What the paper printed for them: hollow marks of the same colour.
    pub printed: Vec<Point>,
    /// The series whose colour this one has: its formula, its bound.
    pub like: Option<String>,
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
        let points = points.into_iter().map(Into::into).collect();
        Series { name: name.into(), mark: Mark::Line, points, printed: Vec::new(), like: None }
    }

    /// A broken line.
    pub fn dashed<P: Into<Point>>(name: impl Into<String>, points: impl IntoIterator<Item = P>) -> Self {
        Series { mark: Mark::Dashed, ..Series::line(name, points) }
    }

    /// Marks alone.
    pub fn points<P: Into<Point>>(name: impl Into<String>, points: impl IntoIterator<Item = P>) -> Self {
        Series { mark: Mark::Points, ..Series::line(name, points) }
    }

    /// With what the paper printed for it.
    pub fn printed<P: Into<Point>>(self, printed: impl IntoIterator<Item = P>) -> Self {
        Series { printed: printed.into_iter().map(Into::into).collect(), ..self }
    }

    /// In the colour of another series of the same figure.
    pub fn like(self, name: impl Into<String>) -> Self {
        Series { like: Some(name.into()), ..self }
    }
}
