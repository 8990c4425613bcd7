//! Limits that were met, times without the engine, and connections that were closed.

use super::{bad, fine, hint, listed, note, share, warning, whole_percent};
use crate::figures;
use result::{Rule, Trial};

/// Share of scheduling periods with throttling from which the limit sets the number.
pub(super) const THROTTLED_MIN: f64 = 0.05;

/// Whether a process was held back by the limit on its CPU time.
pub(super) fn throttled(trial: &Trial) -> Option<Rule> {
    let limits: Vec<_> =
        trial.processes.iter().filter_map(|process| Some((process, process.limits?))).collect();
    let throttlings: Vec<_> =
        limits.iter().filter_map(|(process, limits)| Some((process, limits, limits.throttling?))).collect();
    if throttlings.is_empty() {
        limits.iter().find(|(_, limits)| limits.cpu.is_some())?;
        return note("how often the limits were met could not be read");
    }
    let held: Vec<String> = throttlings
        .iter()
        .filter(|(.., met)| share(met.throttled_periods, met.periods) >= THROTTLED_MIN)
        .map(|(process, limits, met)| {
            let cpu = limits.cpu.map_or_else(String::new, |cpu| format!(" of {}", figures::cores(cpu)));
            format!(
                "{} met its limit{cpu} in {} of the scheduling periods and waited {}",
                process.roles_words(),
                whole_percent(share(met.throttled_periods, met.periods)),
                figures::seconds(met.throttled_s)
            )
        })
        .collect();
    if held.is_empty() {
        return fine("no process was throttled by its limit");
    }
    warning(format!("{}: throughput is that of the limit", listed(&held)), "raise the limit and run again")
}

/// Share of calls with a reconnect from which the measured time is partly that of connecting.
const RECONNECTS_MAX: f64 = 0.01;

/// Whether connections were closed between calls.
pub(super) fn reconnects(trial: &Trial) -> Option<Rule> {
    let call_counts = trial.overall.call_counts;
    if call_counts.reconnects == 0 {
        return None;
    }
    let connections = figures::counted(call_counts.reconnects, "connection");
    let was = if call_counts.reconnects == 1 { "was" } else { "were" };
    let each = figures::percent(share(call_counts.reconnects, call_counts.started));
    let sentence = format!(
        "{connections} {was} opened again after the other end had closed them between calls ({each} of the calls); the response times \
         include that"
    );
    let advice = "keep idle connections open for longer: `idle_session_timeout` of PostgreSQL, `wait_timeout` of MariaDB, the \
                  keep-alive time of an HTTP server or of a proxy";
    if share(call_counts.reconnects, call_counts.started) > RECONNECTS_MAX {
        return warning(sentence, advice);
    }
    hint(sentence, advice)
}

/// Whether someone else used the database.
pub(super) fn other_sessions(trial: &Trial) -> Option<Rule> {
    let engine = trial.engine.as_ref()?;
    let others = engine.other_sessions.as_ref()?;
    let sampled = (!others.is_empty()).then(|| {
        format!("other sessions ran statements in the database during the measurement: {}", listed(others))
    });
    // The run's sessions stay open, unless a call ends in doubt or finds no one; one opened right before the window may be counted in it.
    let counts = &trial.overall.call_counts;
    let expected = counts.reconnects + counts.in_doubt + counts.refused + 2 * u64::from(trial.plan.clients);
    let opened = engine.gauge(result::SESSIONS_OPENED).and_then(|gauge| gauge.total).unwrap_or(0.0);
    let short = (opened > expected as f64).then(|| {
        let sessions = figures::counted(opened as u64, "session");
        let expected = figures::count(expected);
        format!("{sessions} were opened in the database during the measurement, and the run accounts for at most {expected}")
    });
    let found: Vec<String> = sampled.into_iter().chain(short).collect();
    if found.is_empty() {
        return None;
    }
    warning(
        found.join("; "),
        "use a database without other sessions: their statements cost time, and the audits see what they write",
    )
}

/// Whether there were times without the engine or the server.
pub(super) fn outages(trial: &Trial) -> Option<Rule> {
    if trial.outages.is_empty() {
        return None;
    }
    let without: f64 =
        trial.outages.iter().map(|outage| outage.to_s.unwrap_or(trial.measured_s) - outage.from_s).sum();
    let found = crate::engine_findings::outages(trial).join("; ");
    if trial.lacked_writes() {
        let why = crate::engine_findings::refusals(trial).unwrap_or_default();
        return bad(
            format!("{found}; refused {why}: the engine could not write; invalid result"),
            "give the database room, or leave to write, and measure again",
        );
    }
    warning(
        format!(
            "{found}: the mean rate covers {} in which nothing could complete",
            figures::seconds(without)
        ),
        "judge the rate by the slices before and after",
    )
}
