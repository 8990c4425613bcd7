//! Whether calls wait for rows that others hold: what the plan lets them share, and what the engine's sessions were seen
//! waiting for.

use super::{fine, note, warning, whole_percent};
use crate::engine_findings::lock_waits;
use crate::{figures, findings};
use result::{Rule, Trial};

/// Clients a row from which calls that draw their row meet often: with half as many clients as rows a third of the calls
/// finds another at its row.
const CLIENTS_A_DRAWN_ROW: f64 = 0.5;
/// Clients a row from which calls meet whose client has a row of its own.
const CLIENTS_A_HOME: f64 = 1.0;
/// Share of session time from which waits for locks show in the throughput.
const SHOWS: f64 = 0.1;
/// Share of session time from which they are most of it.
const MOST: f64 = 0.5;

/// What calls share, and whether they waited for it. Waiting is only claimed where it was seen.
pub(super) fn hot_rows(trial: &Trial) -> Option<Rule> {
    let shared = HotTable::of(trial)?;
    if trial.stack.engine == "sqlite" {
        return embedded(trial, &shared);
    }
    let advice = format!("load more {}: two or more a client", trial.data.scale_unit);
    let Some(waited) = lock_waits(trial) else {
        if !shared.is_crowded {
            return fine(format!("{}: low contention", shared.words));
        }
        return warning(
            format!(
                "{}, and the engine's waits were not sampled: throughput may reflect waits for those rows",
                shared.words
            ),
            &advice,
        );
    };
    let seen = format!(
        "{}; the engine's sessions spent {} of the sampled time waiting for locks of other sessions",
        shared.words,
        whole_percent(waited)
    );
    if waited >= MOST {
        warning(format!("{seen}: throughput mostly reflects those waits"), &advice)
    } else if waited >= SHOWS {
        warning(format!("{seen}: contention lowers throughput"), &advice)
    } else {
        fine(format!("{seen}: low contention"))
    }
}

/// SQLite has no locks of rows.
fn embedded(trial: &Trial, shared: &HotTable) -> Option<Rule> {
    if !shared.is_crowded {
        return fine(format!("{}: low contention", shared.words));
    }
    let sentence = format!(
        "{}; SQLite has one writer at a time whatever the rows, so more {} would not help",
        shared.words, trial.data.scale_unit
    );
    note(sentence)
}

/// The rows of the smallest table that is updated, and the clients at them.
struct HotTable {
    /// `8 clients on 10 warehouse rows, each at a home warehouse of its own`.
    words: String,
    /// Whether clients meet often if calls take their time there.
    is_crowded: bool,
}

impl HotTable {
    /// Nothing where the rows are not known.
    fn of(trial: &Trial) -> Option<HotTable> {
        let (data, plan) = (&trial.data, &trial.plan);
        let has_homes = data.scale_unit == "warehouses";
        let hottest = data.hottest_rows.filter(|rows| *rows > 0)?;
        let unit = findings::scale_unit(data, 1);
        let what = if hottest == data.scale { format!("{unit} row") } else { "row".to_owned() };
        let found = format!("{} on {}", super::clients(plan.clients), figures::counted(hottest, &what));
        // TPC-C 2.8.1.1: a terminal belongs to a warehouse; they are spread over all warehouses first.
        let most = u64::from(plan.clients).div_ceil(hottest);
        let words = match (has_homes && plan.clients > 1, most) {
            (false, _) => found,
            (true, 1) => format!("{found}, each at a home warehouse of its own"),
            (true, most) => format!("{found}, up to {} a home warehouse", figures::count(most)),
        };
        let most = if has_homes { CLIENTS_A_HOME } else { CLIENTS_A_DRAWN_ROW };
        // Clients that think most of the time do not meet at a row: TPC-C itself has ten a warehouse.
        let is_thinking = plan.arrivals.is_by_the_standard() || super::pace::sets_the_rate(trial);
        let is_crowded = f64::from(plan.clients) > most * hottest as f64 && plan.clients > 1 && !is_thinking;
        Some(HotTable { words, is_crowded })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{after, check, counter, direct, is_silent, on_postgres, sampled};
    use result::Severity::{Info, Ok as Fine, Warning};
    use result::{Arrivals, Trial};

    const RULE: &str = "hot-rows";

    fn rows(trial: &mut Trial, rows: u64) {
        (trial.data.hottest_rows, trial.data.scale) = (Some(rows), rows);
    }

    #[test]
    fn without_samples_a_crowd_is_named_and_no_wait_is_claimed() {
        check(RULE, &direct(), Info, "SQLite has one writer");
        after(on_postgres, RULE, Warning, "8 clients on 1 warehouse row, up to 8 a home warehouse");
        after(on_postgres, RULE, Warning, "were not sampled: throughput may reflect waits");
        after(|trial| trial.data.hottest_rows = Some(16), RULE, Fine, "low contention");
        after(
            |trial| rows(trial, 16),
            RULE,
            Fine,
            "8 clients on 16 warehouse rows, each at a home warehouse of its own",
        );
        let branches = |count| {
            move |trial: &mut Trial| {
                on_postgres(trial);
                rows(trial, count);
                trial.data.scale_unit = "branches".to_owned();
            }
        };
        after(branches(1), RULE, Warning, "8 clients on 1 branch row, and");
        // Calls draw their branch, so that ten rows do not keep eight clients apart.
        after(branches(10), RULE, Warning, "8 clients on 10 branch rows, and");
        let paced = |trial: &mut Trial| {
            on_postgres(trial);
            trial.plan.arrivals = Arrivals::Paced { think: "spec".to_owned() };
        };
        after(paced, RULE, Fine, "low contention");
        let thinking = |clients| {
            move |trial: &mut Trial| {
                on_postgres(trial);
                trial.plan.arrivals = Arrivals::Paced { think: "1ms".to_owned() };
                trial.plan.clients = clients;
            }
        };
        // Eight clients that are always in a call meet, however they are paced.
        after(thinking(8), RULE, Warning, "8 clients on 1 warehouse row");
        after(thinking(1_000), RULE, Fine, "low contention");
        let mut trial = direct();
        (trial.data.scale_unit, trial.data.hottest_rows) = ("accounts".to_owned(), None);
        is_silent(RULE, &trial);
    }

    /// Eight clients on ten warehouses waited for rows in 0 to 4 % of the time, and were told that they mostly waited.
    #[test]
    fn waiting_is_only_claimed_where_it_was_seen() {
        let of = |share: f64, warehouses: u64| {
            move |trial: &mut Trial| {
                on_postgres(trial);
                trial.engine = Some(sampled(&[("running", 1.0 - share), ("Lock:transactionid", share)]));
                rows(trial, warehouses);
            }
        };
        after(of(0.04, 10), RULE, Fine, "own; the engine's sessions spent 4 % of the sampled time waiting");
        after(of(0.04, 1), RULE, Fine, "low contention");
        after(of(0.3, 1), RULE, Warning, "spent 30 % of the sampled time waiting");
        after(of(0.3, 1), RULE, Warning, "contention lowers throughput");
        after(of(0.7, 1), RULE, Warning, "throughput mostly reflects those waits");
        // Where few meet by the plan and yet they wait, the samples count.
        after(of(0.7, 10), RULE, Warning, "throughput mostly reflects those waits");
    }

    #[test]
    fn innodb_tells_no_waits_of_a_session_and_adds_up_the_time() {
        let counted = |share: Option<f64>| {
            move |trial: &mut Trial| {
                on_postgres(trial);
                trial.engine = Some(sampled(&[("Updating", 0.9), ("running", 0.1)]));
                trial.stack.engine = "mariadb".to_owned();
                let total = share.map(|share| share * trial.measured_s * 1e3 * f64::from(trial.plan.clients));
                trial.engine.as_mut().unwrap().gauges.push(counter("row lock time", total, Vec::new()));
            }
        };
        after(counted(Some(0.6)), RULE, Warning, "spent 60 % of the sampled time");
        after(counted(Some(0.02)), RULE, Fine, "low contention");
        after(counted(None), RULE, Warning, "were not sampled");
    }
}
