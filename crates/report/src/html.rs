//! A report as one page that needs nothing else: no network, no font, no script of others. Without scripts it loses only
//! the read-outs under the pointer.

mod blocks;
pub(crate) mod budget;
mod chart;
pub(crate) mod curve;
pub(crate) mod deployment;
pub(crate) mod drill;
pub(crate) mod forest;
pub mod history;
pub(crate) mod lines;
mod markup;
pub(crate) mod search;
pub(crate) mod spectrum;
pub(crate) mod stacked;
pub(crate) mod timeline;
pub(crate) mod values;

use crate::{content, variants};
pub(crate) use markup::Markup;
use result::Document;

/// Our own style sheet and script; both end up inside the page.
const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// The page of a run.
pub fn render(document: &Document) -> String {
    let title = match &document.experiment {
        Some(experiment) => variants::title(document, experiment),
        None => document.subjects.first().map_or("run", String::as_str).to_owned(),
    };
    page(&format!("{title} · stackmark"), |body| {
        body.element("main", &[], |main| {
            running_head(main, document);
            blocks::print(main, &content::of(document));
        });
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
            // The page may load nothing, whatever ended up in it; its own pictures become images when they are saved.
            head.raw(
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
                 style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">",
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

fn running_head(main: &mut Markup, document: &Document) {
    main.element("p", &[("class", "running-head")], |head| {
        head.raw("<span class=\"brand\">stackmark</span>");
        head.element("span", &[], |line| {
            line.text(document.kind.word()).text(" · ").text(&document.started.readable());
        });
    });
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
