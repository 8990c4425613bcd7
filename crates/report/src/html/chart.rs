//! The canvas under every chart: it writes SVG whose colours are variables of the style sheet.
//!
//! Each chart is drawn twice, for wide and for narrow screens, since text in a scaled drawing would not stay readable.

use super::markup::{Attributes, Markup};
use result::{Interval, Verdict};

/// Ten units of a drawing are one pixel, so that whole numbers, which are shorter, still make smooth curves.
const FINENESS: f64 = 10.0;

/// Average width of a glyph of 12 pixels in the fonts that the style sheet names.
const GLYPH: f64 = 6.4;

/// A colour by its meaning; the style sheet says what it looks like, by day and by night.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    Ink,
    Muted,
    Grid,
    Shade,
    /// Text on a part of the time budget.
    OnPart,
    /// What a subject against itself shows.
    Noise,
    /// The first to sixth line or side.
    Series(u8),
    /// What a verdict is about.
    Of(Verdict),
    /// A part of the time budget, as an index into `BudgetPart::ALL`.
    Part(u8),
    Bad,
}

impl Paint {
    /// Its variable of the style sheet.
    fn variable(self) -> String {
        match self {
            Paint::Ink => "var(--ink)".to_owned(),
            Paint::Muted => "var(--muted)".to_owned(),
            Paint::Grid => "var(--grid)".to_owned(),
            Paint::Shade => "var(--shade)".to_owned(),
            Paint::OnPart => "var(--on-part)".to_owned(),
            Paint::Bad => "var(--bad)".to_owned(),
            Paint::Noise => "var(--noise)".to_owned(),
            Paint::Of(Verdict::Better) => "var(--better)".to_owned(),
            Paint::Of(Verdict::Worse) => "var(--worse)".to_owned(),
            Paint::Of(Verdict::NotComparable) => "var(--bad)".to_owned(),
            Paint::Of(Verdict::NoDifference | Verdict::Inconclusive) => "var(--muted)".to_owned(),
            Paint::Series(index) => format!("var(--series-{index})"),
            Paint::Part(index) => format!("var(--part-{index})"),
        }
    }
}

/// Where a text is held.
#[derive(Clone, Copy)]
pub(super) enum Hold {
    Left,
    Middle,
    Right,
}

/// What is drawn on; lengths are in CSS pixels at full size.
pub(super) struct Canvas {
    drawn: Markup,
    /// Width of the drawing.
    pub(super) width: f64,
    /// Whether it is for narrow screens.
    pub(super) narrow: bool,
}

impl Canvas {
    /// A line through points.
    pub(super) fn line(&mut self, points: &[(f64, f64)], paint: Paint, width: f64) {
        self.drawn.empty(
            "polyline",
            &[
                ("fill", "none"),
                ("stroke", &paint.variable()),
                ("stroke-width", &units(width)),
                ("points", &places(points)),
            ],
        );
    }

    pub(super) fn shape(&mut self, points: &[(f64, f64)], paint: Paint, opacity: f64) {
        self.filled("polygon", &[("points", &places(points))], paint, opacity);
    }

    /// A filled box.
    pub(super) fn bar(&mut self, from: (f64, f64), to: (f64, f64), paint: Paint, opacity: f64) {
        // The ends are rounded and not the lengths, so that neighbours meet.
        let end = |from: f64, to: f64| (in_units(from.min(to)), in_units(from.max(to)));
        let ((left, right), (top, bottom)) = (end(from.0, to.0), end(from.1, to.1));
        self.filled(
            "rect",
            &[
                ("x", &left.to_string()),
                ("y", &top.to_string()),
                ("width", &(right - left).to_string()),
                ("height", &(bottom - top).to_string()),
            ],
            paint,
            opacity,
        );
    }

    pub(super) fn dot(&mut self, at: (f64, f64), radius: f64, paint: Paint) {
        self.filled(
            "circle",
            &[("cx", &units(at.0)), ("cy", &units(at.1)), ("r", &units(radius))],
            paint,
            1.0,
        );
    }

    fn filled(&mut self, tag: &'static str, place: Attributes<'_>, paint: Paint, opacity: f64) {
        let (fill, opacity) = (paint.variable(), opacity.to_string());
        let mut attributes = place.to_vec();
        attributes.push(("fill", &fill));
        if opacity != "1" {
            attributes.push(("opacity", &opacity));
        }
        self.drawn.empty(tag, &attributes);
    }

    /// An interval with its ends, and a diamond at the value in it.
    pub(super) fn interval(&mut self, x: Scale, y: f64, interval: Interval, paint: Paint) {
        if let (Some(low), Some(high)) = (interval.low, interval.high) {
            self.line(&[(x.at(low), y), (x.at(high), y)], paint, 2.4);
            for end in [low, high] {
                self.line(&[(x.at(end), y - 4.5), (x.at(end), y + 4.5)], paint, 1.8);
            }
        }
        let at = x.at(interval.value);
        self.shape(&[(at - 6.0, y), (at, y - 6.0), (at + 6.0, y), (at, y + 6.0)], paint, 1.0);
    }

    /// An upright interval; an end beyond the scale is left open, so that no one takes the edge of the picture for it.
    pub(super) fn upright(&mut self, x: f64, y: Scale, interval: Interval, paint: Paint, cap: f64) {
        let (Some(low), Some(high)) = (interval.low, interval.high) else { return };
        // Behind the dot of its value there is nothing to see of it but corners.
        if y.at(low) - y.at(high) < 2.0 * cap {
            return;
        }
        self.line(&[(x, y.at(low)), (x, y.at(high))], paint, if cap > 0.0 { 1.6 } else { 0.8 });
        for end in [low, high].into_iter().filter(|end| cap > 0.0 && y.holds(*end)) {
            self.line(&[(x - cap, y.at(end)), (x + cap, y.at(end))], paint, 1.6);
        }
    }

    /// Lines across at the ticks of an upright scale, each with its value.
    pub(super) fn across(&mut self, ends: (f64, f64), y: Scale, count: usize, words: &dyn Fn(f64) -> String) {
        for tick in y.ticks(count) {
            self.line(&[(ends.0, y.at(tick)), (ends.1, y.at(tick))], Paint::Grid, 1.0);
            self.text((ends.0 - 8.0, y.at(tick)), &words(tick), Paint::Muted, Hold::Right);
        }
    }

    /// Where an axis stands so that the longest label of its ticks fits to its left.
    pub(super) fn left_of(&self, ticks: &[f64], words: &dyn Fn(f64) -> String) -> f64 {
        let longest = ticks.iter().map(|tick| words(*tick).chars().count()).max().unwrap_or(0);
        (longest as f64 * GLYPH + 16.0).max(if self.narrow { 40.0 } else { 62.0 })
    }

    /// The values of ticks under a picture: none is cut off by its edge, and where two would touch the first is shown.
    pub(super) fn below(&mut self, x: Scale, ticks: &[f64], y: f64, words: &dyn Fn(f64) -> String) {
        let mut free = 0.0;
        for tick in ticks {
            let label = words(*tick);
            let half = label.chars().count() as f64 * GLYPH / 2.0;
            let at = x.at(*tick).min(self.width - half).max(half);
            if at - half >= free {
                self.text((at, y), &label, Paint::Muted, Hold::Middle);
                free = at + half + 8.0;
            }
        }
    }

    /// Draws a mark: under the pointer, which meets it anywhere in the box, and by the arrow keys `words` are read out.
    pub(super) fn mark(
        &mut self,
        words: &str,
        from: (f64, f64),
        to: (f64, f64),
        draw: impl FnOnce(&mut Canvas),
    ) {
        let before = std::mem::take(&mut self.drawn);
        draw(self);
        let drawn = std::mem::replace(&mut self.drawn, before);
        let [x, y, width, height] = [from.0, from.1, to.0 - from.0, to.1 - from.1].map(units);
        self.drawn.element("g", &[("data-tip", words)], |mark| {
            let place = [("x", x.as_str()), ("y", &y), ("width", &width), ("height", &height)];
            mark.empty("rect", &[&[("class", "hit")], &place[..]].concat()).markup(drawn);
        });
    }

    /// The name of a row of a wide picture, to the left of what is drawn.
    pub(super) fn name(&mut self, left: f64, y: f64, name: &str) {
        self.text((left - 14.0, y), &cut_to(name, left - 16.0), Paint::Ink, Hold::Right);
    }

    /// A line of text, its middle at the height given.
    pub(super) fn text(&mut self, at: (f64, f64), text: &str, paint: Paint, hold: Hold) {
        let anchor = match hold {
            Hold::Left => "start",
            Hold::Middle => "middle",
            Hold::Right => "end",
        };
        let attributes: Attributes<'_> = &[
            ("x", &units(at.0)),
            ("y", &units(at.1)),
            ("dy", "0.5ex"),
            ("text-anchor", anchor),
            ("font-size", if self.narrow { "115" } else { "120" }),
            ("fill", &paint.variable()),
        ];
        self.drawn.element("text", attributes, |element| {
            element.text(text);
        });
    }
}

/// A length of the drawing.
fn in_units(pixels: f64) -> i32 {
    (pixels * FINENESS).round() as i32
}

/// The same as an attribute.
fn units(pixels: f64) -> String {
    in_units(pixels).to_string()
}

fn places(points: &[(f64, f64)]) -> String {
    let places: Vec<String> =
        points.iter().map(|(x, y)| format!("{},{}", in_units(*x), in_units(*y))).collect();
    places.join(" ")
}

/// Maps values to positions.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    /// Values at the ends; logarithms of them where `log`.
    ends: (f64, f64),
    /// Positions at the ends.
    span: (f64, f64),
    log: bool,
}

impl Scale {
    /// Evenly from `ends.0` at `span.0` to `ends.1` at `span.1`.
    pub(super) fn linear(ends: (f64, f64), span: (f64, f64)) -> Scale {
        let ends = if ends.1 > ends.0 { ends } else { (ends.0, ends.0 + 1.0) };
        Scale { ends, span, log: false }
    }

    /// The same in powers of ten; both ends are above zero.
    pub(super) fn log(ends: (f64, f64), span: (f64, f64)) -> Scale {
        let low = ends.0.max(1e-9).log10();
        Scale { ends: (low, ends.1.max(1e-9).log10().max(low + 0.3)), span, log: true }
    }

    /// Where a value lies; values beyond the ends are at the ends.
    pub(super) fn at(&self, value: f64) -> f64 {
        let value = if self.log { value.max(1e-9).log10() } else { value };
        let part = ((value - self.ends.0) / (self.ends.1 - self.ends.0)).clamp(0.0, 1.0);
        self.span.0 + part * (self.span.1 - self.span.0)
    }

    /// Whether a value is within the ends.
    fn holds(&self, value: f64) -> bool {
        let value = if self.log { value.max(1e-9).log10() } else { value };
        (self.ends.0..=self.ends.1).contains(&value)
    }

    /// Values worth a label, about `count` of them.
    pub(super) fn ticks(&self, count: usize) -> Vec<f64> {
        if self.log { self.log_ticks(count) } else { self.linear_ticks(count) }
    }

    fn linear_ticks(&self, count: usize) -> Vec<f64> {
        let step = round_step((self.ends.1 - self.ends.0) / count.max(1) as f64);
        let first = (self.ends.0 / step).ceil() as i64;
        let last = (self.ends.1 / step + 1e-9).floor() as i64;
        (first..=last).map(|i| i as f64 * step).collect()
    }

    fn log_ticks(&self, count: usize) -> Vec<f64> {
        let decades = self.ends.1 - self.ends.0;
        let within: &[f64] = if decades * 3.0 <= count as f64 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        (self.ends.0.floor() as i32..=self.ends.1.ceil() as i32)
            .flat_map(|decade| within.iter().map(move |part| part * 10_f64.powi(decade)))
            .filter(|value| (self.ends.0 - 1e-9..=self.ends.1 + 1e-9).contains(&value.log10()))
            .collect()
    }

    /// Ends and positions, as the script reads them.
    fn for_script(&self) -> String {
        format!("{:.4} {:.4} {:.1} {:.1}", self.ends.0, self.ends.1, self.span.0, self.span.1)
    }
}

/// The next of 1, 2, 5, 10, … that is not a smaller.
pub(super) fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.max(1e-12).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power >= least * 0.999);
    step.unwrap_or(10.0) * power
}

/// The upper end of an axis from zero: all values and, where they do not dwarf the values, the ends of their intervals.
pub(super) fn headroom(shown: impl Iterator<Item = Interval> + Clone) -> f64 {
    /// An interval may take this much of what the values take.
    const INTERVALS_MAX: f64 = 1.6;
    let most = shown.clone().map(|interval| interval.value).fold(f64::MIN_POSITIVE, f64::max);
    let ends = shown.filter_map(|interval| interval.high).fold(most, f64::max);
    ends.min(most * INTERVALS_MAX) * 1.08
}

/// The width of a column of names to the left of a wide picture: that of the longest, within reason.
pub(super) fn names_width(names: impl Iterator<Item = impl AsRef<str>>) -> f64 {
    let longest = names.map(|name| name.as_ref().chars().count()).max().unwrap_or(0) as f64;
    // Names are wider than figures on average.
    (longest * (GLYPH + 0.3) + 22.0).clamp(90.0, 290.0)
}

/// A text cut to about this many pixels, with an ellipsis where something is missing.
pub(super) fn cut_to(text: &str, pixels: f64) -> String {
    let room = (pixels / GLYPH).max(4.0) as usize;
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().take(room - 1).collect();
    format!("{}…", kept.trim_end())
}

/// What the pointer reads out of a chart.
pub(super) struct Readout {
    /// Positions along the axis, rising; logarithms on a logarithmic axis.
    pub(super) positions: Vec<f64>,
    /// What to call each of them.
    pub(super) labels: Vec<String>,
    /// For each entry of the legend, its value at each position.
    pub(super) values: Vec<Vec<String>>,
}

/// An entry of a legend.
pub(super) struct Key {
    /// Class of the swatch in the style sheet.
    pub(super) swatch: String,
    /// What it stands for.
    pub(super) name: String,
}

impl Key {
    pub(super) fn new(swatch: impl Into<String>, name: impl Into<String>) -> Key {
        Key { swatch: swatch.into(), name: name.into() }
    }
}

/// A chart with everything around it.
pub(super) struct Figure<'a> {
    /// What it shows, in a few words.
    pub(super) title: &'a str,
    /// How to read it, in a sentence or two.
    pub(super) caption: &'a str,
    /// What a reader who cannot see it must know.
    pub(super) description: String,
    pub(super) legend: Vec<Key>,
}

impl Figure<'_> {
    /// Writes a figure of which the pointer reads out nothing.
    pub(super) fn draw(&self, markup: &mut Markup, height: impl Fn(bool) -> f64, draw: impl Fn(&mut Canvas)) {
        self.write(markup, None, height, |canvas| {
            draw(canvas);
            None
        });
    }

    /// Writes the figure; `draw` draws it for one width and returns the horizontal scale of the read-out.
    pub(super) fn write(
        &self,
        markup: &mut Markup,
        readout: Option<Readout>,
        height: impl Fn(bool) -> f64,
        draw: impl Fn(&mut Canvas) -> Option<Scale>,
    ) {
        let readout = readout.map(|readout| {
            let positions: Vec<f64> = readout.positions.iter().map(|at| (at * 1e4).round() / 1e4).collect();
            serde_json::json!({ "at": positions, "labels": readout.labels, "values": readout.values })
                .to_string()
        });
        let mut attributes = vec![("class", "chart")];
        if let Some(readout) = &readout {
            attributes.push(("data-readout", readout));
        }
        markup.raw("\n").element("figure", &attributes, |figure| {
            figure.element("figcaption", &[], |line| {
                line.line("strong", "", self.title);
                line.raw("<span class=\"at\" aria-live=\"polite\"></span>");
            });
            self.write_legend(figure);
            for narrow in [false, true] {
                self.drawing(figure, narrow, height(narrow), &draw);
            }
            figure.line("p", "caption", self.caption);
        });
    }

    fn write_legend(&self, figure: &mut Markup) {
        if self.legend.is_empty() {
            return;
        }
        figure.element("ul", &[("class", "legend")], |list| {
            for key in &self.legend {
                list.element("li", &[], |item| {
                    item.element("i", &[("class", &format!("swatch {}", key.swatch))], |_| ());
                    item.text(&key.name).raw(" <b class=\"value\"></b>");
                });
            }
        });
    }

    fn drawing(
        &self,
        figure: &mut Markup,
        narrow: bool,
        height: f64,
        draw: &impl Fn(&mut Canvas) -> Option<Scale>,
    ) {
        let width = if narrow { 344.0 } else { 880.0 };
        let mut canvas = Canvas { drawn: Markup::default(), width, narrow };
        let for_script = draw(&mut canvas).map(|scale| scale.for_script());
        let view = format!("0 0 {} {}", units(width), units(height));
        let mut attributes = vec![
            ("class", if narrow { "narrow" } else { "wide" }),
            ("viewBox", view.as_str()),
            ("role", "img"),
            ("aria-label", self.description.as_str()),
        ];
        if let Some(for_script) = &for_script {
            attributes.push(("data-scale", for_script));
        }
        figure.raw("\n").element("svg", &attributes, |svg| {
            svg.line("title", "", self.title);
            svg.line("desc", "", &self.description);
            svg.raw("\n").markup(canvas.drawn);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_has_a_colour_of_the_style_sheet_and_whole_units() {
        let check = |draw: fn(&mut Canvas), expected: &str| {
            let mut canvas = Canvas { drawn: Markup::default(), width: 100.0, narrow: false };
            draw(&mut canvas);
            assert_eq!(canvas.drawn.into_string(), expected);
        };
        check(
            |canvas| canvas.line(&[(0.0, 1.04), (-2.5, 3.06)], Paint::Series(1), 1.6),
            "<polyline fill=\"none\" stroke=\"var(--series-1)\" stroke-width=\"16\" points=\"0,10 -25,31\"/>\n",
        );
        check(
            |canvas| canvas.shape(&[(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)], Paint::Shade, 0.25),
            "<polygon points=\"0,0 10,0 10,10\" fill=\"var(--shade)\" opacity=\"0.25\"/>\n",
        );
        check(
            |canvas| canvas.bar((3.0, 8.0), (1.0, 2.0), Paint::Part(4), 1.0),
            "<rect x=\"10\" y=\"20\" width=\"20\" height=\"60\" fill=\"var(--part-4)\"/>\n",
        );
        check(
            |canvas| canvas.dot((1.0, 2.0), 3.5, Paint::Bad),
            "<circle cx=\"10\" cy=\"20\" r=\"35\" fill=\"var(--bad)\"/>\n",
        );
        check(
            |canvas| canvas.text((1.0, 2.0), "p99 < \"1 ms\"", Paint::Muted, Hold::Right),
            "<text x=\"10\" y=\"20\" dy=\"0.5ex\" text-anchor=\"end\" font-size=\"120\" fill=\"var(--muted)\">\
             p99 &lt; &quot;1 ms&quot;</text>",
        );
    }

    #[test]
    fn ticks_are_round_and_within_the_scale() {
        let ticks = |scale: Scale, count| scale.ticks(count);
        assert_eq!(ticks(Scale::linear((0.0, 1_900.0), (0.0, 1.0)), 5), [0.0, 500.0, 1_000.0, 1_500.0]);
        assert_eq!(
            ticks(Scale::linear((-10.0, 60.0), (0.0, 1.0)), 7),
            [-10.0, 0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
        );
        assert_eq!(ticks(Scale::log((90.0, 12_000.0), (0.0, 1.0)), 3), [100.0, 1_000.0, 10_000.0]);
    }

    #[test]
    fn intervals_get_room_but_do_not_dwarf_what_they_surround() {
        let interval = |value, high| Interval { value, low: Some(0.0), high: Some(high) };
        let room = |shown: &[Interval]| headroom(shown.iter().copied());
        assert!((room(&[interval(90.0, 95.0), interval(80.0, 100.0)]) - 108.0).abs() < 1e-9);
        assert!((room(&[interval(100.0, 9_000.0)]) - 172.8).abs() < 1e-9);
    }

    #[test]
    fn a_value_beyond_the_scale_lies_at_its_end() {
        let scale = Scale::linear((0.0, 10.0), (100.0, 200.0));
        assert_eq!([scale.at(-5.0), scale.at(5.0), scale.at(50.0)], [100.0, 150.0, 200.0]);
    }
}
