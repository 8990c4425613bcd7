//! Several stores asked as if they were one engine: what each tells is summed, levels like counters. No gauge is a maximum, so
//! a level stands for all stores together (sessions, pages, an age of log in bytes) and not for the one that has the most.

use crate::engine::{EngineProbe, Gauge, SessionState, StatementCount};

/// Probes of all stores; at least one. They are asked in turn, and have only answered once all have: without one, a sum would
/// look like counters that went back.
pub(crate) struct Several(pub(crate) Vec<Box<dyn EngineProbe>>);

impl EngineProbe for Several {
    fn gauges(&mut self) -> Option<Vec<Gauge>> {
        let (mut sums, mut servers): (Vec<(Gauge, usize)>, Vec<Option<String>>) = (Vec::new(), Vec::new());
        for probe in &mut self.0 {
            let (gauges, server) = (probe.gauges()?, probe.server());
            let is_told = server.is_some() && servers.contains(&server);
            if !is_told {
                servers.push(server);
            }
            for gauge in gauges.into_iter().filter(|gauge| !(is_told && gauge.of_server)) {
                let same = |sum: &&mut (Gauge, usize)| sum.0.name == gauge.name && sum.0.group == gauge.group;
                match sums.iter_mut().find(same) {
                    Some((sum, known)) => {
                        sum.value += gauge.value;
                        *known += 1;
                    }
                    None => sums.push((gauge, 1)),
                }
            }
        }
        let of = |gauge: &Gauge| if gauge.of_server { servers.len() } else { self.0.len() };
        // What one of them does not tell is not known of all.
        Some(sums.into_iter().filter(|(gauge, known)| *known == of(gauge)).map(|(gauge, _)| gauge).collect())
    }

    fn states(&mut self) -> Option<Vec<SessionState>> {
        let mut sums: Vec<SessionState> = Vec::new();
        for probe in &mut self.0 {
            for state in probe.states()? {
                match sums.iter_mut().find(|sum| sum.name == state.name) {
                    Some(sum) => sum.sessions += state.sessions,
                    None => sums.push(state),
                }
            }
        }
        Some(sums)
    }

    fn statements(&mut self) -> Vec<StatementCount> {
        let mut sums: Vec<StatementCount> = Vec::new();
        for statement in self.0.iter_mut().flat_map(|probe| probe.statements()) {
            match sums.iter_mut().find(|sum| sum.text == statement.text) {
                Some(sum) => {
                    sum.calls += statement.calls;
                    sum.total_ms += statement.total_ms;
                    sum.rows += statement.rows;
                }
                None => sums.push(statement),
            }
        }
        sums
    }

    fn others(&mut self) -> Option<Vec<String>> {
        let known: Option<Vec<_>> = self.0.iter_mut().map(|probe| probe.others()).collect();
        known.map(|each| each.concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::GaugeKind;

    /// A database with this number of commits, on a server with ten times as many bytes of log.
    struct Tells {
        server: &'static str,
        commits: Option<f64>,
        log: bool,
    }

    impl EngineProbe for Tells {
        fn gauges(&mut self) -> Option<Vec<Gauge>> {
            let gauge = |name: &'static str, value, of_server| Gauge {
                name: name.into(),
                group: "wal".into(),
                unit: "bytes".into(),
                kind: GaugeKind::Counter,
                of_server,
                late: false,
                value,
            };
            let commits = self.commits?;
            let mut gauges = vec![gauge("commits", commits, false)];
            gauges.extend(self.log.then(|| gauge("log", 10.0 * commits, true)));
            Some(gauges)
        }

        fn states(&mut self) -> Option<Vec<SessionState>> {
            self.commits
                .map(|sessions| vec![SessionState { name: "running".into(), sessions: sessions as u32 }])
        }

        fn statements(&mut self) -> Vec<StatementCount> {
            let calls = self.commits.unwrap_or_default() as u64;
            vec![StatementCount { text: "update t".into(), calls, total_ms: 0.5, rows: calls }]
        }

        fn server(&self) -> Option<String> {
            Some(self.server.to_owned())
        }
    }

    fn several(stores: &[(&'static str, Option<f64>, bool)]) -> Several {
        let probe = |&(server, commits, log): &(&'static str, Option<f64>, bool)| -> Box<dyn EngineProbe> {
            Box::new(Tells { server, commits, log })
        };
        Several(stores.iter().map(probe).collect())
    }

    /// Names and values of the gauges.
    fn known(stores: &[(&'static str, Option<f64>, bool)]) -> Option<Vec<(String, f64)>> {
        let gauges = several(stores).gauges()?;
        Some(gauges.into_iter().map(|gauge| (gauge.name.into_owned(), gauge.value)).collect())
    }

    #[test]
    fn figures_are_summed_and_those_of_a_server_counted_once() {
        let of =
            |commits: f64, log: f64| Some(vec![("commits".to_owned(), commits), ("log".to_owned(), log)]);
        assert_eq!(known(&[("a", Some(3.0), true)]), of(3.0, 30.0));
        assert_eq!(known(&[("a", Some(3.0), true), ("b", Some(4.0), true)]), of(7.0, 70.0));
        assert_eq!(known(&[("a", Some(3.0), true), ("a", Some(4.0), true)]), of(7.0, 30.0));
        let mut both = several(&[("a", Some(3.0), true), ("b", Some(4.0), true)]);
        assert_eq!(both.states(), Some(vec![SessionState { name: "running".into(), sessions: 7 }]));
        let sum = StatementCount { text: "update t".into(), calls: 7, total_ms: 1.0, rows: 7 };
        assert_eq!(both.statements(), [sum]);
    }

    #[test]
    fn what_one_store_does_not_tell_is_not_known_of_all() {
        assert_eq!(known(&[("a", Some(3.0), true), ("b", None, true)]), None);
        assert_eq!(several(&[("a", Some(3.0), true), ("b", None, true)]).states(), None);
        let without_log = known(&[("a", Some(3.0), true), ("b", Some(4.0), false)]);
        assert_eq!(without_log, Some(vec![("commits".to_owned(), 7.0)]));
    }
}
