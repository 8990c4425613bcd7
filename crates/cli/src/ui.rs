//! Speaking to a person: data to standard output, everything else to standard error.

use crate::args::LiveArgs;
use crate::live::{Following, Live};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::Monotonic;
use model::{Clock, Nanos};
use report::text::Colour;
use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, IsTerminal, Write};

/// Without a terminal a line of progress is written this often.
const LINE_EVERY: Nanos = Nanos::from_secs(3);

/// The user's terminal, or what stands in its place.
#[derive(Debug)]
pub(crate) struct Ui {
    pub(crate) json: bool,
    colour_out: bool,
    colour_err: bool,
    terminal: bool,
    live: Live,
    /// Why data could not be written, if it could not.
    unwritten: RefCell<Option<std::io::Error>>,
}

impl Ui {
    pub(crate) fn new(json: bool) -> Ui {
        // no-color.org: any value but the empty one.
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let terminal = !dumb && std::io::stderr().is_terminal();
        Ui {
            json,
            colour_out: wanted && !dumb && std::io::stdout().is_terminal(),
            colour_err: wanted && terminal,
            terminal,
            live: Live::default(),
            unwritten: RefCell::default(),
        }
    }

    /// Serves the live view and the metrics from now on, if they were asked for.
    ///
    /// # Errors
    /// An address that cannot be listened at.
    pub(crate) fn go_live(&mut self, args: &LiveArgs) -> anyhow::Result<()> {
        self.live = Live::start(args, self)?;
        Ok(())
    }

    /// Who looks while trials run.
    pub(crate) fn live(&self) -> &Live {
        &self.live
    }

    /// What goes on from now on, for all who look.
    pub(crate) fn doing(&self, words: &str) {
        self.say(words);
        self.live.doing(words);
    }

    /// Follows one trial for all who look.
    pub(crate) fn follow(&self, what: &str) -> Following {
        self.live.follow(self, what)
    }

    /// A few lines that are drawn anew; nothing without a terminal.
    pub(crate) fn view(&self) -> Option<View> {
        self.terminal.then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
            bar.set_style(ProgressStyle::with_template("{msg}").expect("a fixed template"));
            View { bar, colour: self.colour_err }
        })
    }

    /// Colours of what goes to standard output.
    pub(crate) fn colour(&self) -> Colour {
        if self.colour_out { Colour::Always } else { Colour::Never }
    }

    /// Data. A reader that has gone away (`| head`) is no error of ours; anything else is told by [`Ui::end`].
    pub(crate) fn data(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => *self.unwritten.borrow_mut() = Some(error),
            _ => {}
        }
    }

    /// Whether all data could be written.
    ///
    /// # Errors
    /// It could not, such as on a full disk.
    pub(crate) fn end(&self) -> anyhow::Result<()> {
        match self.unwritten.take() {
            None => Ok(()),
            Some(error) => Err(anyhow::Error::new(error).context("could not write to standard output")),
        }
    }

    /// A remark.
    pub(crate) fn say(&self, text: &str) {
        say(text);
    }

    /// Why a command could not run: the whole chain, in one line where it fits.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        let mut text = String::new();
        for link in error.chain().map(ToString::to_string) {
            // Some errors repeat their source in their own words.
            if text.contains(&link) {
                continue;
            }
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&link);
        }
        self.say(&format!("error: {text}"));
    }

    /// Long work: a bar with the time left, or a line every few seconds where there is no terminal.
    pub(crate) fn progress(&self, what: &str) -> Progress {
        let bar = ProgressBar::with_draw_target(
            Some(1_000),
            if self.terminal { ProgressDrawTarget::stderr_with_hz(8) } else { ProgressDrawTarget::hidden() },
        );
        let style = ProgressStyle::with_template("{prefix:28} [{bar:32}] {msg}")
            .expect("a fixed template")
            .progress_chars("=> ");
        bar.set_style(style);
        bar.set_prefix(what.to_owned());
        let clock = Monotonic::start();
        Progress { bar, what: what.to_owned(), lines: !self.terminal, clock, next: Cell::new(Nanos::ZERO) }
    }
}

/// A remark, for those who outlive the [`Ui`].
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// A few lines of the terminal that are drawn anew, and taken away in the end.
#[derive(Debug)]
pub(crate) struct View {
    bar: ProgressBar,
    colour: bool,
}

impl View {
    /// Replaces the lines.
    pub(crate) fn draw(&self, lines: &str) {
        self.bar.set_message(lines.to_owned());
        self.bar.tick();
    }

    /// Columns of the terminal, as wide as it is now.
    pub(crate) fn width(&self) -> usize {
        let size = rustix::termios::tcgetwinsize(std::io::stderr());
        // A terminal that does not say has zero columns.
        size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(80)
    }

    /// Whether colours are wanted.
    pub(crate) fn colour(&self) -> bool {
        self.colour
    }

    /// Takes the lines away.
    pub(crate) fn end(self) {
        self.bar.finish_and_clear();
    }
}

/// Progress of one piece of long work.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    what: String,
    lines: bool,
    clock: Monotonic,
    next: Cell<Nanos>,
}

impl Progress {
    /// `share` from 0 to 1, and what there is to say.
    pub(crate) fn show(&self, share: f64, message: &str) {
        if self.lines {
            let now = self.clock.now();
            if now >= self.next.get() {
                self.next.set(now + LINE_EVERY);
                let _ =
                    writeln!(std::io::stderr().lock(), "{}: {:.0} %, {message}", self.what, share * 100.0);
            }
            return;
        }
        self.bar.set_position((share.clamp(0.0, 1.0) * 1_000.0) as u64);
        self.bar.set_message(message.to_owned());
    }

    /// Takes the bar away.
    pub(crate) fn end(self) {
        self.bar.finish_and_clear();
    }
}

/// Seconds for people: `0.5 s`, `8 s`, `3 min 20 s`.
pub(crate) fn seconds(seconds: f64) -> String {
    if (0.05..9.95).contains(&seconds) && seconds.fract() != 0.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.max(0.0).round() as u64;
    match (whole / 60, whole % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// A sentence begins with a capital letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn spans_read_well() {
        let spans = [0.0, 0.52, 3.0, 3.26, 59.6, 60.0, 200.0];
        let read = ["0 s", "0.5 s", "3 s", "3.3 s", "1 min", "1 min", "3 min 20 s"];
        assert_eq!(spans.map(seconds), read.map(str::to_owned));
    }
}
