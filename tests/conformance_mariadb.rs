//! TPC-C on MariaDB, as a whole: every style through the server, in races, at the engine's own isolation and at
//! READ COMMITTED; and everybody who does wrong, caught by the audits that catch the same on SQLite.

use adapter_mysql_async::MySqlOpener;
use measure::Monotonic;
use model::Target;
use pair_tpcc::mysql::ProcedureTarget;
use rig::Engine;
use sql::{Dialect, Isolation, ServerUrl};
use stackmark_tests::bite;
use stackmark_tests::calls::runtime;
use stackmark_tests::routes::{conforms_through_http, other_races, races};
use stackmark_tests::test_engines::OnMariaDb;
use workload_tpcc::{SqlTarget, Tpcc, catalogue};

const REACHED: &str = "a database that was just made";

fn plain(url: &ServerUrl) -> impl Target<Tpcc> + use<> {
    let texts = catalogue(Dialect::MySql).expect("kept by a test of the workload");
    let opener = runtime().block_on(MySqlOpener::reach(url, texts)).expect(REACHED);
    SqlTarget::new(opener, Monotonic::start())
}

fn procedure(url: &ServerUrl) -> ProcedureTarget<Monotonic> {
    runtime().block_on(ProcedureTarget::reach(url, Monotonic::start())).expect(REACHED)
}

fn conforms_and_races<T: Target<Tpcc>>(reach: impl Fn(&ServerUrl) -> T) {
    conforms_through_http(Engine::MariaDb, &reach);
    races(Engine::MariaDb, Isolation::ReadCommitted, reach);
}

#[test]
fn plain_sessions_conform_through_http_and_lose_nothing_in_races() {
    conforms_and_races(plain);
}

#[test]
fn procedures_conform_through_http_and_lose_nothing_in_races() {
    conforms_and_races(procedure);
}

#[test]
fn what_no_audit_can_see_is_left_to_conformance_which_does() {
    bite::what_no_audit_sees_does_not_conform::<OnMariaDb>();
}

/// Races in the other combinations of route and isolation; and fault injectors, driven as on SQLite. That the audits of this engine
/// catch changed rows is a test of `admin`.
mod extended {
    use super::*;

    #[test]
    fn no_style_loses_anything_in_races_at_any_isolation_on_either_route() {
        other_races(Engine::MariaDb, Isolation::ReadCommitted, plain);
        other_races(Engine::MariaDb, Isolation::ReadCommitted, procedure);
    }

    #[test]
    fn each_fault_injector_is_caught_by_the_audits_that_it_offends_and_by_no_others() {
        bite::exact_fault_injectors_are_caught::<OnMariaDb>();
    }

    #[test]
    fn work_that_is_not_the_standard_s_shows_in_the_shape_of_the_data() {
        bite::shape_fault_injectors_are_caught::<OnMariaDb>();
    }

    #[test]
    fn what_an_answer_or_the_schema_gives_away_fails_the_trial() {
        bite::defects_end_the_trial::<OnMariaDb>();
    }

    #[test]
    fn fault_injectors_behind_a_server_are_caught_too_and_after_a_crash() {
        bite::fault_injectors_behind_a_server_are_caught::<OnMariaDb>();
    }
}
