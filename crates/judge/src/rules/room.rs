//! How near to full each resource is, and what more clients could bring at most until the first is full.

use super::load::Load;
use super::saturation::{Lane, server_threads};
use super::whole_percent;
use crate::figures;
use result::{Suspect, Trial};

/// From this share on a resource is nearly full: more clients bring a quarter more at most.
const NEARLY: f64 = 0.8;

/// What there is left of the machine, as far as it was observed.
pub(super) struct Room {
    /// That of which the largest share is used.
    fullest: Resource,
    /// What is used of each: `1.8 of 2 processors busy, disk sda busy 40 % of the time`.
    pub(super) words: String,
}

/// Something that there is only so much of.
struct Resource {
    /// With its article, as the subject of a clause.
    name: String,
    used: f64,
    suspect: Suspect,
}

impl Room {
    pub(super) fn of(trial: &Trial, load: &Load, busiest: Suspect) -> Room {
        let mut words = vec![load.words()];
        let mut resources =
            vec![Resource { name: "the cores".into(), used: load.busy() / load.cores, suspect: busiest }];
        let threads = f64::from(trial.plan.generator_threads).min(load.cores);
        if load.generator > 0.0 && threads > 0.0 {
            let used = load.generator / threads;
            words.push(format!("generator {} of its {threads} at most", whole_percent(used)));
            let name = "the load generator".into();
            resources.push(Resource { name, used, suspect: Suspect::GeneratorCpu });
        }
        for process in &trial.processes {
            let limit = process.limits.and_then(|limits| limits.cpu).filter(|cpu| *cpu > 0.0);
            let Some(cpu) = limit.filter(|_| trial.measured_s > 0.0) else { continue };
            let used = process.cpu_s() / trial.measured_s / cpu;
            words.push(format!("{} {} of its CPU limit", process.roles_words(), whole_percent(used)));
            let name = format!("the CPU limit of {}", process.roles_words());
            resources.push(Resource { name, used, suspect: Suspect::Limit });
        }
        for (process, used) in server_threads(trial) {
            let name = format!("one thread of {}", process.roles_words());
            words.push(format!("{name} busy {} of the time", whole_percent(used)));
            resources.push(Resource { name, used, suspect: Suspect::ServerThread });
        }
        if trial.stack.engine == "sqlite" && trial.measured_s > 0.0 {
            let used = Lane::of(trial).held_s / trial.measured_s;
            words.push(format!("SQLite's one writer {}", whole_percent(used)));
            resources.push(Resource { name: "SQLite's one writer".into(), used, suspect: Suspect::Writer });
        }
        if let Some(disk) = &trial.disk {
            // A device that serves many requests at once can still do more at 100 %, so it bounds nothing.
            words.push(format!(
                "disk {} busy {} of the time",
                disk.device,
                whole_percent(disk.busy_share.min(1.0))
            ));
        }
        let fullest = resources.into_iter().max_by(|a, b| a.used.total_cmp(&b.used));
        Room { fullest: fullest.expect("there are always the cores"), words: words.join(", ") }
    }

    /// That of which nearly all is used, if anything.
    pub(super) fn nearly_full(&self) -> Option<(&str, Suspect)> {
        (self.fullest.used >= NEARLY).then_some((self.fullest.name.as_str(), self.fullest.suspect))
    }

    /// `more clients could bring at most 12 % more throughput before the processors are full`; nothing where too little is
    /// used to say so.
    pub(super) fn bound(&self) -> Option<String> {
        let Resource { name, used, .. } = &self.fullest;
        let factor = 1.0 / used.max(f64::MIN_POSITIVE);
        let most = match factor {
            factor if factor < 2.0 => format!("{} more", whole_percent((factor - 1.0).max(0.0))),
            factor if factor < 20.0 => format!("{} times the", figures::trimmed(factor, 1)),
            _ => return None,
        };
        let verb = if name.ends_with("cores") { "are" } else { "is" };
        Some(format!("more clients could bring at most {most} throughput before {name} {verb} full"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{after, check, on_postgres, quiet, through_http, wait_for_nothing};
    use result::Severity::{Info, Warning};
    use result::{Suspect, Trial};

    const RULE: &str = "saturation";

    /// A server's trial in which so many of four processors were busy.
    fn busy(processors: f64) -> Trial {
        let mut trial = through_http();
        on_postgres(&mut trial);
        for process in &mut trial.processes {
            (process.cpu_user_s, process.cpu_system_s) = (0.0, 0.0);
            process.busiest_thread_s = None;
        }
        (trial.machine.steal_share, trial.machine.other_load_share) = (Some(0.0), Some(0.0));
        trial.writeback = None;
        trial.processes[0].cpu_user_s = 0.3 * trial.measured_s;
        trial.processes[1].cpu_user_s = (processors - 0.3) * trial.measured_s;
        trial
    }

    /// 1.8 of 2 processors busy was "nothing was full, raise the number of clients".
    #[test]
    fn nearly_full_processors_are_said_and_more_clients_are_not_advised() {
        let trial = busy(3.5);
        check(RULE, &trial, Info, "the cores are nearly full");
        check(RULE, &trial, Info, "more clients could bring at most 14 % more throughput");
        let found = super::super::saturation::find(&trial).unwrap();
        // The server's process hosts the engine, so neither is named alone.
        assert_eq!(found.suspect, Suspect::AllCores);
        assert!(!found.rule.advice.unwrap_or_default().contains("raise the number of clients"));
    }

    #[test]
    fn how_near_to_full_each_is_and_what_clients_bring_at_most_is_said() {
        let trial = busy(2.0);
        check(RULE, &trial, Info, "saturated (2 of 4 cores busy, generator ");
        check(RULE, &trial, Info, "more clients could bring at most 2 times the throughput");
        let advice = super::super::saturation::find(&trial).unwrap().rule.advice.unwrap();
        assert!(advice.starts_with("raise the number of clients"), "{advice}");
        // Hardly anything is used: no bound worth a word.
        let mut idle = busy(0.1);
        idle.processes[0].cpu_user_s = 0.0;
        idle.processes[1].cpu_user_s = 0.1 * idle.measured_s;
        let sentence = super::super::saturation::find(&idle).unwrap().rule.sentence;
        assert!(!sentence.contains("at most"), "{sentence}");
        after(wait_for_nothing, RULE, Info, "SQLite's one writer 0 %");
    }

    #[test]
    fn past_the_capacity_of_an_open_loop_no_one_is_told_to_raise_the_clients() {
        let mut trial = quiet(sample_documents::open_trial());
        on_postgres(&mut trial);
        // A tenth of what is due does not end in time.
        let due = trial.overall.call_counts.due;
        trial.overall.call_counts.dropped = due / 10;
        trial
            .slices
            .iter_mut()
            .flat_map(|slice| &mut slice.kinds)
            .for_each(|kind| kind.committed = kind.committed * 4 / 5);
        check(RULE, &trial, Warning, "the backlog grew");
        let found = super::super::saturation::find(&trial).unwrap();
        assert_eq!(found.suspect, Suspect::Unknown);
        let advice = found.rule.advice.unwrap();
        assert!(!advice.contains("clients") && advice.contains("find-max"), "{advice}");
    }
}
