//! Trials that were cut off, as their folders have them.
use result::{PROGRESS_FILE, Progress, State, Trial, last_claims};

/// A folder with the document of a trial that runs, and lines that were written since.
fn folder(name: &str, lines: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("stackmark-progress-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut document = sample_documents::trial();
    document.state = State::Running;
    let trial = &mut document.trials[0];
    trial.state = State::Running;
    trial.slices.clear();
    trial.kinds.clear();
    std::fs::write(folder.join("result.json"), result::to_json(&document)).unwrap();
    std::fs::write(folder.join(PROGRESS_FILE), lines).unwrap();
    folder
}

fn line(trial: &Trial, first_slice: usize, claims: u32) -> String {
    serde_json::to_string(&Progress::of(trial, first_slice, Some(claims))).unwrap() + "\n"
}

#[test]
fn a_killed_trial_stands_where_its_last_whole_line_says() {
    let whole = sample_documents::trial().trials.remove(0);
    let mut early = whole.clone();
    early.slices.truncate(12);
    early.slices[11].kinds[0].committed = 1;
    early.measured_s = 2.0;
    let mut lines = line(&early, 0, 7);
    // A slice that came in late, written again with the ones after it.
    lines += &line(&whole, 11, 8);
    lines += &line(&whole, 12, 9)[..90];
    let folder = folder("whole", &lines);
    for path in [folder.clone(), folder.join("result.json")] {
        let trial = result::read(&path).unwrap().trials.remove(0);
        assert_eq!(trial.state, State::Running);
        assert_eq!((&trial.slices, trial.measured_s), (&whole.slices, whole.measured_s));
        assert_eq!((&trial.kinds, &trial.overall), (&whole.kinds, &whole.overall));
    }
    assert_eq!(last_claims::<u32>(&folder).unwrap(), Some(8));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_trial_that_has_ended_is_not_what_lines_of_before_say() {
    let whole = sample_documents::trial().trials.remove(0);
    let folder = folder("ended", &line(&whole, 0, 1));
    std::fs::write(folder.join("result.json"), result::to_json(&sample_documents::failed_trial())).unwrap();
    let read = result::read(&folder).unwrap();
    assert_eq!(read, sample_documents::failed_trial());
    std::fs::remove_dir_all(folder).unwrap();
}
