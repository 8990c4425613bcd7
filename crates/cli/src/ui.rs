//! Speaking to a person: data to standard output, everything else to standard error.

use crate::args::LiveArgs;
use crate::live::{self, Live};
use crate::outcome::{CommandOutcome, RunTerms};
use anyhow::{Context, Result};
use deploy::{LongTask, Reporter};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::Monotonic;
use model::{Clock, Nanos};
use report::text::{self, Colour, Style};
use result::{Document, Experiment, State};
use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use trial::{FinishedRun, Folder, RunReporter, TrialReporter};

/// Without a terminal a line of progress is written this often.
const LINE_EVERY: Nanos = Nanos::from_secs(3);

/// The user's terminal, or what stands in its place.
#[derive(Debug)]
pub(crate) struct Ui {
    pub(crate) json: bool,
    explain: bool,
    colour_out: bool,
    colour_err: bool,
    terminal: bool,
    live: Live,
    /// Whether the trials are some of several, whose announcements say how far the run is.
    of_several: Cell<bool>,
    /// Why data could not be written, if it could not.
    unwritten: RefCell<Option<std::io::Error>>,
}

impl Ui {
    pub(crate) fn new(json: bool, explain: bool) -> Ui {
        // no-color.org: any value but the empty one.
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let terminal = !dumb && std::io::stderr().is_terminal();
        Ui {
            json,
            explain,
            colour_out: wanted && !dumb && std::io::stdout().is_terminal(),
            colour_err: wanted && terminal,
            terminal,
            live: Live::default(),
            of_several: Cell::new(false),
            unwritten: RefCell::default(),
        }
    }

    /// Serves the live view and the metrics from now on, if they were asked for.
    pub(crate) fn go_live(&mut self, args: &LiveArgs) -> Result<()> {
        self.live = Live::start(args, self)?;
        Ok(())
    }

    /// A few lines that are drawn again; nothing without a terminal.
    pub(crate) fn view(&self) -> Option<View> {
        self.terminal.then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
            bar.set_style(ProgressStyle::with_template("{msg}").expect("a fixed template"));
            View { bar, colour: self.colour_err }
        })
    }

    /// How reports on standard output look.
    pub(crate) fn style(&self) -> Style {
        // As shells tell their children, where there is no terminal to ask.
        let told = || std::env::var("COLUMNS").ok()?.parse::<usize>().ok();
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
        let columns = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).or_else(told);
        let is_wide = columns.is_some_and(|columns| columns >= text::WIDTH);
        Style {
            colour: if self.colour_out { Colour::Always } else { Colour::Never },
            width: if is_wide { text::WIDTH } else { text::NARROW },
            in_full: self.explain,
        }
    }

    /// Data. A reader that has gone away (`| head`) is not an error of ours; anything else is told by [`Ui::end`].
    pub(crate) fn data(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => *self.unwritten.borrow_mut() = Some(error),
            _ => {}
        }
    }

    /// Data, to a file where one was named.
    pub(crate) fn put(&self, file: Option<&Path>, text: &str) -> Result<()> {
        match file {
            Some(path) => {
                std::fs::write(path, text).with_context(|| format!("could not write {}", path.display()))
            }
            None => {
                self.data(text);
                Ok(())
            }
        }
    }

    /// The page of a document, in the folder of its run.
    pub(crate) fn put_page(&self, folder: &Folder, document: &Document) -> Result<PathBuf> {
        folder.put("report.html", report::html::render(document).as_bytes())
    }

    /// Whether all data could be written.
    ///
    /// # Errors
    /// It could not, such as on a full disk.
    pub(crate) fn end(&self) -> Result<()> {
        match self.unwritten.take() {
            None => Ok(()),
            Some(error) => Err(anyhow::Error::new(error).context("could not write to standard output")),
        }
    }

    pub(crate) fn remark(&self, text: &str) {
        remark(text);
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
        self.remark(&format!("error: {text}"));
    }

    /// Long work: a bar with the time left, or a line every few seconds where there is no terminal.
    pub(crate) fn progress(&self, what: &str) -> ProgressLine {
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
        ProgressLine {
            bar,
            what: what.to_owned(),
            lines: !self.terminal,
            clock,
            next: Cell::new(Nanos::ZERO),
        }
    }

    /// Shows a run that has ended, and says what came of it.
    pub(crate) fn finish(
        &self,
        (folder, run): (Folder, FinishedRun),
        terms: RunTerms,
    ) -> Result<CommandOutcome> {
        self.publish(&folder, &run.document, &run.json)?;
        run.remark.iter().for_each(|remark| self.remark(remark));
        drop(run.locked);
        terms.judge(&run.document, self)
    }

    /// Makes the finished document of a run readable: writes its page, prints the report, and says where they are. `json` is where the
    /// document is written.
    pub(crate) fn publish(&self, folder: &Folder, document: &Document, json: &Path) -> Result<()> {
        let page = self.put_page(folder, document)?;
        self.live.board(document, &|| None);
        self.live.reported(&page);
        if self.json {
            self.data(&result::to_json(document));
        } else {
            self.data(&text::render(document, self.style()));
        }
        if document.state == State::Interrupted {
            self.remark("interrupted: the result covers what was measured until then");
        }
        self.remark(&format!("result: {}\nreport: {}", json.display(), page.display()));
        Ok(())
    }
}

impl Reporter for Ui {
    fn remark(&self, text: &str) {
        remark(text);
    }

    fn doing(&self, words: &str) {
        drop(self.live.doing(words));
    }

    fn work(&self, words: &str) -> Box<dyn LongTask> {
        Box::new(Working { bar: Some(self.progress(words)), page: self.live.doing(words) })
    }
}

/// Long work, in the terminal and on the page.
struct Working {
    bar: Option<ProgressLine>,
    page: live::LongTask,
}

impl LongTask for Working {
    fn show(&self, share: f64, text: &str) {
        if let Some(bar) = &self.bar {
            bar.show(share, text);
        }
        self.page.show(share, text);
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.end();
        }
    }
}

impl RunReporter for Ui {
    fn follow(&self, what: &str) -> Box<dyn TrialReporter> {
        Box::new(self.live.follow(self, what, self.of_several.get()))
    }

    fn place(&self, variant: &str, block: u32) {
        self.of_several.set(true);
        self.live.place(variant, block);
    }

    fn board(&self, document: &Document, shown: &dyn Fn() -> Option<Experiment>) {
        self.live.board(document, shown);
    }
}

/// A remark, for those who outlive the [`Ui`].
pub(crate) fn remark(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// A few lines of the terminal that are drawn again, and taken away in the end.
#[derive(Debug)]
pub(crate) struct View {
    bar: ProgressBar,
    colour: bool,
}

impl View {
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
pub(crate) struct ProgressLine {
    bar: ProgressBar,
    what: String,
    lines: bool,
    clock: Monotonic,
    next: Cell<Nanos>,
}

impl ProgressLine {
    /// `share` from 0 to 1, and what there is to say.
    pub(crate) fn show(&self, share: f64, message: &str) {
        if self.lines {
            self.note(&format!("{:.0} %, {message}", share * 100.0));
            return;
        }
        self.bar.set_position((share.clamp(0.0, 1.0) * 1_000.0) as u64);
        self.bar.set_message(message.to_owned());
    }

    /// What there is to say, where a line is due; nothing in a terminal.
    pub(crate) fn note(&self, message: &str) {
        let now = self.clock.now();
        if self.lines && now >= self.next.get() {
            self.next.set(now + LINE_EVERY);
            let _ = writeln!(std::io::stderr().lock(), "{}: {message}", self.what);
        }
    }

    /// Takes the bar away.
    pub(crate) fn end(self) {
        self.bar.finish_and_clear();
    }
}
