//! A real broker: made, killed, started again, and gone.

use crate::engines::{base, leftovers, living_in};
use rig::for_tests::not_run;
use rig::{Engine, Options, RigError, find};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Options in a base folder of their own; nothing where Kafka cannot be had.
fn options(base: &tempfile::TempDir, settings: &[(&str, &str)]) -> Option<Options> {
    if let Err(why) = find(Engine::Kafka) {
        not_run(why);
        return None;
    }
    let wanted = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let mut options = Options { base: Some(base.path().to_owned()), ..Options::small(Engine::Kafka) };
    options.settings.extend(wanted);
    Some(options)
}

/// What is left but jars that were fetched.
fn left(base: &tempfile::TempDir) -> Vec<PathBuf> {
    let mut left = leftovers(base.path());
    left.retain(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("kafka-4")));
    left
}

#[test]
fn a_broker_is_ours_alone_comes_back_after_a_kill_and_leaves_nothing() {
    let base = base();
    let Some(options) = options(&base, &[("num.partitions", "3")]) else { return };
    let mut broker = match rig::start(Engine::Kafka, &options) {
        // Its jars cannot be fetched here.
        Err(why @ RigError::Missing(_)) => return not_run(why),
        started => started.unwrap(),
    };
    let (folder, (address, password)) = (broker.folder().to_owned(), broker.address());
    let mode = |name: &str| folder.join(name).metadata().unwrap().mode() & 0o777;
    assert_eq!([mode("data"), mode("client.conf"), mode("engine.conf")], [0o700, 0o600, 0o600]);
    let setting =
        |name: &str| broker.settings().iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    assert_eq!(setting("num.partitions").as_deref(), Some("3"));
    assert!(
        setting("listeners")
            .unwrap()
            .starts_with(&format!("SASL_PLAINTEXT://{address},CONTROLLER://127.0.0.1:"))
    );
    assert!(broker.settings().iter().all(|(_, value)| !value.contains(password.reveal())));
    assert!(broker.installation().version.starts_with("Kafka 4."));
    let first = broker.pid();
    broker.kill();
    assert!(!broker.is_alive());
    broker.restart().unwrap();
    assert!(broker.is_alive() && broker.pid() != first && broker.address().0 == address);
    broker.halt().unwrap();
    drop(broker);
    assert_eq!((left(&base), living_in(base.path())), (vec![], vec![]));
}

#[test]
fn a_broker_that_does_not_start_says_why_and_where_it_is_and_who_enters_is_no_option() {
    let base = base();
    for name in ["listeners", "log.dirs", "process.roles"] {
        let Some(options) = options(&base, &[(name, "x")]) else { return };
        let error = rig::start(Engine::Kafka, &options).unwrap_err();
        assert!(matches!(&error, RigError::Invalid(why) if why.contains(name)), "{error}");
    }
    let Some(options) = options(&base, &[("num.partitions", "many")]) else { return };
    let error = rig::start(Engine::Kafka, &options).unwrap_err();
    if let RigError::Missing(_) = error {
        return not_run(error);
    }
    assert!(error.to_string().contains("num.partitions"), "{error}");
    let logs = left(&base);
    assert!(logs.iter().all(|path| fs::metadata(path).unwrap().is_file()), "{logs:?}");
    assert_eq!(living_in(base.path()), Vec::<u32>::new());
}
