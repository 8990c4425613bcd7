//! A report as one page that needs nothing else: no network, no font, no script of others. Without scripts it loses only
//! the read-outs under the pointer.

mod budget;
mod chart;
mod compare;
mod cost;
mod curve;
mod engine;
mod experiment;
mod forest;
pub mod history;
mod markup;
mod ratio;
mod search;
mod setup;
mod spectrum;
mod stacked;
mod timeline;
mod trial;
mod values;
mod vouch;

use crate::findings;
use markup::Markup;
use result::{Document, RunKind};

/// Our own style sheet and script; both end up inside the page.
const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// The page of a run.
#[must_use]
pub fn render(document: &Document) -> String {
    page(&title_of(document), |body| {
        body.element("main", &[], |main| content(main, document));
        footer(body, document);
    })
}

/// A page with our style sheet and script around what `content` writes.
fn page(title: &str, content: impl FnOnce(&mut Markup)) -> String {
    let mut page = Markup::default();
    page.raw("<!doctype html>\n");
    page.element("html", &[("lang", "en")], |page| {
        page.element("head", &[], |head| {
            head.raw("<meta charset=\"utf-8\">");
            head.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
            head.raw("<meta name=\"color-scheme\" content=\"light dark\">");
            // The page may load nothing, whatever ended up in it.
            head.raw(
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
                 style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">",
            );
            head.line("title", "", title);
            head.raw("<style>").raw(STYLE).raw("</style>");
        });
        page.element("body", &[], |body| {
            content(body);
            body.raw("<script>").raw(SCRIPT).raw("</script>");
        });
    });
    page.into_string()
}

fn title_of(document: &Document) -> String {
    if let Some(experiment) = &document.experiment {
        return format!("{} · stackmark", crate::variants::title(experiment));
    }
    match &document.comparison {
        Some(comparison) => format!("{} against {} · stackmark", comparison.b.label, comparison.a.label),
        None => format!("{} · stackmark", document.subjects.first().map_or("run", String::as_str)),
    }
}

fn content(main: &mut Markup, document: &Document) {
    main.element("p", &[("class", "running-head")], |head| {
        head.raw("<span class=\"brand\">stackmark</span>");
        head.element("span", &[], |line| {
            line.text(match document.kind {
                RunKind::Trial => "trial",
                RunKind::Comparison => "comparison",
                RunKind::Experiment => "experiment",
                RunKind::Sweep => "sweep",
                RunKind::Search => "search",
            });
            line.text(" · ").text(&document.started.readable());
        });
    });
    if let Some(experiment) = &document.experiment {
        experiment::render(main, document, experiment);
    } else if let Some(comparison) = &document.comparison {
        if let Some(confirmation) = &document.confirmation {
            main.line("p", "", &format!("Bottleneck {}.", confirmation.sentence));
        }
        compare::render(main, document, comparison);
    } else if let Some(found) = document.curve.as_ref().filter(|curve| !curve.points.is_empty()) {
        curve::render(main, document, found);
    } else if let Some(found) = document.search.as_ref().filter(|search| !search.steps.is_empty()) {
        search::render(main, document, found);
    } else if document.trials.is_empty() {
        main.line("h1", "", &document.subjects.join(" and "));
        main.line("p", "lead", &findings::empty_sentence(document));
    } else {
        for trial in &document.trials {
            trial::render(main, trial);
        }
    }
    if !document.notes.is_empty() {
        main.section("Notes", |section| {
            section.sentences(&document.notes);
        });
    }
}

fn footer(body: &mut Markup, document: &Document) {
    body.element("footer", &[], |footer| {
        footer.element("p", &[], |p| {
            p.raw("Run ").line("code", "", &document.id);
            p.raw(" was measured by stackmark ").text(&document.stackmark).raw(", with ");
            p.line("code", "", &document.command.join(" "));
            p.raw(". ");
        });
        footer.raw(
            "<p>Throughput counts committed calls. A percentile with fewer than ten samples beyond it is not \
             shown. Intervals are 95&#8239;% intervals.</p>",
        );
    });
}
