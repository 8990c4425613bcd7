//! The deployment of a trial as a drawing: its processes and stores, how many connections go between them, what each may use and
//! what it used.

use super::chart::{Canvas, Figure, Hold, Paint, cut_to};
use super::markup::Markup;
use judge::figures;
use result::{Process, Role, Trial};

/// Of a box, and between rows of boxes.
const HEIGHT: f64 = 66.0;
const GAP: f64 = 44.0;
/// The widest box, and the room between two.
const WIDEST: f64 = 300.0;
const BETWEEN: f64 = 14.0;
/// Stores that are drawn one by one, on wide screens and on narrow ones; the rest are counted.
const STORES_MAX: [usize; 2] = [4, 2];

/// A process or a store.
struct Component {
    title: String,
    lines: Vec<String>,
    paint: Paint,
    /// Whether what is above it calls it; a relay is called by no one.
    is_called: bool,
}

/// Draws it; nothing where no process was observed.
pub(crate) fn deployment(markup: &mut Markup, trial: &Trial) {
    if trial.processes.is_empty() {
        return;
    }
    let rows = [callers(trial), between(trial), stores(trial, STORES_MAX[0])];
    let listed = rows.iter().flatten().map(|part| format!("{}: {}", part.title, part.lines.join(", ")));
    let machine = &trial.machine;
    let place = format!(
        "CPU cores used in the measurement window and peak memory, of the limit of each. {} of a machine with {} and {}.",
        if trial.data.remote { "The engine is remote; the rest is part" } else { "All are part" },
        figures::counted(machine.cores.into(), "core"),
        figures::bytes(machine.memory_bytes)
    );
    let figure = Figure {
        title: "What ran, and what it was connected to",
        caption: &place,
        description: format!("A diagram of processes and stores. {}.", listed.collect::<Vec<_>>().join("; ")),
        legend: Vec::new(),
    };
    let levels = rows.iter().filter(|row| !row.is_empty()).count() as f64;
    figure.draw(
        markup,
        |_| levels * (HEIGHT + GAP) - GAP + 4.0,
        |canvas| {
            let most = STORES_MAX[usize::from(canvas.narrow)];
            let rows: Vec<Vec<Component>> = [callers(trial), between(trial), stores(trial, most)]
                .into_iter()
                .filter(|row| !row.is_empty())
                .collect();
            draw(canvas, &rows, &links(trial));
        },
    );
}

/// Who makes the calls; next to it a relay, where both speak to the stores.
fn callers(trial: &Trial) -> Vec<Component> {
    let mut found: Vec<Component> =
        of_role(trial, Role::Generator).map(|process| part(trial, process, Paint::Series(1))).collect();
    if !is_served(trial) {
        found.extend(relay(trial));
    }
    found
}

/// What stands between the load generator and the stores.
fn between(trial: &Trial) -> Vec<Component> {
    if !is_served(trial) {
        return Vec::new();
    }
    let server = of_role(trial, Role::Server).map(|process| part(trial, process, Paint::Series(2)));
    let mut found: Vec<Component> = server.collect();
    if found.is_empty() {
        let lines = vec!["it was not observed".to_owned()];
        found.push(Component { title: "server".into(), lines, paint: Paint::Muted, is_called: true });
    }
    found.extend(relay(trial));
    found
}

fn is_served(trial: &Trial) -> bool {
    trial.stack.route == "http"
}

fn relay(trial: &Trial) -> Option<Component> {
    let process = of_role(trial, Role::Relay).next()?;
    let mut part = Component { is_called: false, ..part(trial, process, Paint::Series(3)) };
    // A relay between stores has one session more, which removes expired keys.
    if let Some(connections) = setting(trial, "relay connections") {
        part.lines[0] = format!("{}, {}", part.lines[0], to_stores(trial, connections + 1));
    }
    Some(part)
}

/// Where the data is; at most so many, and how many more.
fn stores(trial: &Trial, most: usize) -> Vec<Component> {
    let count = trial.data.store_count();
    let engines: Vec<&Process> =
        of_role(trial, Role::Engine).filter(|engine| engine.roles.len() == 1).collect();
    let one = |at: usize| {
        let store = trial.data.stores.get(at);
        let name = store.map_or("store", |store| store.name.as_str());
        let bytes = store.map_or(trial.data.bytes, |store| store.bytes);
        let locked = bytes.map(|bytes| format!("{} at the start", figures::bytes(bytes)));
        // Several stores may be databases of one server.
        match engines.get(if engines.len() == 1 { 0 } else { at }) {
            Some(engine) => {
                let title = format!("{name}: {}", engine.name);
                Component { title, ..part(trial, engine, Paint::Series(4)) }
            }
            None => {
                let lines = locked.into_iter().collect();
                let title = format!("{name}: {}", trial.stack.engine);
                Component { title, lines, paint: Paint::Muted, is_called: true }
            }
        }
    };
    let shown = if count > most { most - 1 } else { count };
    let mut found: Vec<Component> = (0..shown).map(one).collect();
    if count > shown {
        let title = format!("{} more", figures::counted((count - shown) as u64, "store"));
        found.push(Component { title, lines: Vec::new(), paint: Paint::Muted, is_called: true });
    }
    // Where a relay publishes, calls do not reach it.
    let is_called = of_role(trial, Role::Relay).next().is_none();
    let broker = of_role(trial, Role::Broker);
    found.extend(broker.map(|process| Component { is_called, ..part(trial, process, Paint::Series(5)) }));
    let consumer = of_role(trial, Role::Consumer);
    found.extend(
        consumer.map(|process| Component { is_called: false, ..part(trial, process, Paint::Series(6)) }),
    );
    found
}

fn of_role(trial: &Trial, role: Role) -> impl Iterator<Item = &Process> {
    trial.processes.iter().filter(move |process| process.roles[0] == role)
}

fn part(trial: &Trial, process: &Process, paint: Paint) -> Component {
    let limits = process.limits.as_ref();
    let of = |most: Option<String>| most.map_or_else(String::new, |most| format!(" of {most}"));
    let busy = (trial.measured_s > 0.0).then(|| process.cpu_s() / trial.measured_s);
    let cores = figures::or_none(busy, |cores| figures::trimmed(cores, 2));
    let cores_max = limits.and_then(|limits| limits.cpu).map(|cpu| figures::trimmed(cpu, 2));
    let memory_max = limits.and_then(|limits| limits.memory_bytes).map(figures::bytes);
    let lines = vec![
        format!("{cores}{} cores busy", of(cores_max)),
        format!("{}{}", figures::bytes(process.rss_peak_bytes), of(memory_max)),
    ];
    Component { title: process.roles_words(), lines, paint, is_called: true }
}

/// What goes between the rows, in words.
fn links(trial: &Trial) -> Vec<String> {
    let clients = u64::from(trial.plan.clients);
    let to_stores = to_stores(trial, setting(trial, "sessions").unwrap_or(clients));
    match is_served(trial) {
        true => vec![figures::counted(clients, "client"), to_stores],
        false => vec![to_stores],
    }
}

/// A number among the settings of the stack.
fn setting(trial: &Trial, name: &str) -> Option<u64> {
    trial.stack.settings.iter().find(|setting| setting.name == name)?.value.parse().ok()
}

fn to_stores(trial: &Trial, sessions: u64) -> String {
    let each = if trial.data.store_count() > 1 { " to each store" } else { "" };
    format!("{}{each}", figures::counted(sessions, "session"))
}

fn draw(canvas: &mut Canvas, rows: &[Vec<Component>], links: &[String]) {
    let mut above: Vec<f64> = Vec::new();
    for (level, row) in rows.iter().enumerate() {
        let top = 2.0 + level as f64 * (HEIGHT + GAP);
        let count = row.len() as f64;
        let width = ((canvas.width - 4.0 - (count - 1.0) * BETWEEN) / count).min(WIDEST);
        let left = (canvas.width - count * width - (count - 1.0) * BETWEEN) / 2.0;
        let middles: Vec<f64> =
            (0..row.len()).map(|at| left + at as f64 * (width + BETWEEN) + width / 2.0).collect();
        let called: Vec<f64> =
            middles.iter().zip(row).filter(|(_, part)| part.is_called).map(|(middle, _)| *middle).collect();
        if let (Some(link), Some(first)) = (level.checked_sub(1).and_then(|at| links.get(at)), called.first())
        {
            connect(canvas, &above, &called, top);
            canvas.text((first + 8.0, top - GAP / 4.0), link, Paint::Muted, Hold::Left);
        }
        for (part, middle) in row.iter().zip(&middles) {
            let (from, to) = ((middle - width / 2.0, top), (middle + width / 2.0, top + HEIGHT));
            canvas.bar(from, to, Paint::Shade, 1.0);
            canvas.bar(from, (from.0 + 4.0, to.1), part.paint, 1.0);
            let text = (from.0 + 12.0, width - 16.0);
            canvas.text((text.0, top + 14.0), &cut_to(&part.title, text.1), Paint::Ink, Hold::Left);
            for (line, y) in part.lines.iter().zip([34.0, 52.0]) {
                canvas.text((text.0, top + y), &cut_to(line, text.1), Paint::Muted, Hold::Left);
            }
        }
        above = middles;
    }
}

/// Everybody above with everybody below, by one line between the rows.
fn connect(canvas: &mut Canvas, above: &[f64], below: &[f64], top: f64) {
    let (start, between) = (top - GAP, top - GAP / 2.0);
    let ends = || above.iter().chain(below).copied();
    let (left, right) = (ends().fold(f64::INFINITY, f64::min), ends().fold(0.0, f64::max));
    canvas.line(&[(left, between), (right, between)], Paint::Muted, 1.0);
    for at in above {
        canvas.line(&[(*at, start), (*at, between)], Paint::Muted, 1.0);
    }
    for at in below {
        canvas.line(&[(*at, between), (*at, top)], Paint::Muted, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{Limits, Setting, StoreData};

    /// Titles and lines, a row of boxes each.
    fn rows(trial: &Trial) -> Vec<String> {
        let rows = [callers(trial), between(trial), stores(trial, STORES_MAX[0])];
        let listed =
            |part: &Component| format!("{} ({})", part.title, part.lines.join(", ")).replace('\u{a0}', " ");
        let rows = rows.iter().filter(|row| !row.is_empty());
        rows.map(|row| row.iter().map(listed).collect::<Vec<_>>().join(" | ")).collect()
    }

    fn process(role: Role, name: &str, limits: Option<Limits>) -> Process {
        let like = sample_documents::engine_trial().trials.remove(0).processes.remove(0);
        Process {
            roles: vec![role],
            name: name.into(),
            cpu_user_s: 4.0,
            cpu_system_s: 1.0,
            rss_peak_bytes: 32 << 20,
            limits,
            ..like
        }
    }

    /// Over so many stores, each on an engine of its own, through a server with a relay next to it.
    fn over(count: usize) -> Trial {
        let mut trial = sample_documents::engine_trial().trials.remove(0);
        let limits = Limits { cpu: Some(0.5), memory_bytes: Some(1 << 30), throttling: None };
        trial.measured_s = 10.0;
        trial.stack.route = "http".into();
        let engines = (0..count).map(|_| process(Role::Engine, "postgres", Some(limits)));
        trial.processes = [Role::Generator, Role::Server, Role::Relay]
            .map(|role| process(role, "stackmark", None))
            .into_iter()
            .chain(engines)
            .collect();
        let store = |at| StoreData { name: format!("shard-{at}"), ..StoreData::default() };
        trial.data.stores = (0..count).map(store).collect();
        trial
    }

    #[test]
    fn each_process_and_each_store_has_a_box_with_what_it_may_use() {
        let mut trial = over(2);
        let shard = |at| format!("shard-{at}: postgres (0.5 of 0.5 cores busy, 32 MiB of 1 GiB)");
        let both = format!("{} | {}", shard(0), shard(1));
        let own = "(0.5 cores busy, 32 MiB)";
        let served = [format!("generator {own}"), format!("server {own} | relay {own}"), both.clone()];
        assert_eq!(rows(&trial), served);
        assert_eq!(links(&trial).len(), 2);
        let connections = Setting { name: "relay connections".into(), value: "1".into() };
        trial.stack.settings.push(connections);
        assert!(rows(&trial)[1].ends_with("relay (0.5 cores busy, 2 sessions to each store, 32 MiB)"));
        trial.stack.settings.pop();
        trial.stack.route = "direct".into();
        trial.processes.retain(|process| process.roles != [Role::Server]);
        assert_eq!(rows(&trial), [format!("generator {own} | relay {own}"), both.clone()]);
        trial.processes.push(process(Role::Broker, "java", None));
        assert_eq!(rows(&trial)[1], format!("{both} | broker {own}"));
        assert!(links(&trial)[0].ends_with("to each store"), "{:?}", links(&trial));
    }

    #[test]
    fn of_many_stores_some_are_counted() {
        let last = rows(&over(6)).pop().unwrap();
        assert!(last.contains("shard-2") && last.ends_with("3 stores more ()"), "{last}");
    }

    #[test]
    fn it_is_drawn_and_told() {
        let mut markup = Markup::default();
        deployment(&mut markup, &over(2));
        let page = markup.into_string();
        assert!(page.contains("shard-1: postgres: 0.5 of 0.5 cores busy"), "{page}");
        assert_eq!(page.matches("<svg").count(), 2, "wide and narrow");
        let mut nothing = Markup::default();
        deployment(&mut nothing, &Trial { processes: Vec::new(), ..over(2) });
        assert_eq!(nothing.into_string(), "");
    }
}
