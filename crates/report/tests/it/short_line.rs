//! The short line of a trial, which gives its slices back.
use result::{KindSlice, ShortLine};

#[test]
fn a_short_line_gives_back_what_ended_in_each_slice() {
    let trial = sample_documents::trial().trials.remove(0);
    let line = ShortLine::of(&trial.slices).unwrap();
    let again = line.slices();
    assert_eq!(again.len(), trial.slices.len());
    for (short, whole) in again.iter().zip(&trial.slices) {
        assert_eq!((short.t_s, short.warmup), (whole.t_s, whole.warmup));
        assert!((short.duration_s - whole.duration_s).abs() < 1e-6);
        for (short, whole) in short.kinds.iter().zip(&whole.kinds) {
            let counts = |kind: &KindSlice| (kind.committed, kind.declined, kind.faults);
            assert_eq!(counts(short), counts(whole));
            assert_eq!(short.p99_ns, whole.p99_ns.map(|ns| ns / 1_000 * 1_000));
        }
    }
    assert_eq!(ShortLine::of(&[]), None);
    let short = serde_json::to_string(&line).unwrap().len();
    let whole = serde_json::to_string(&trial.slices).unwrap().len();
    assert!(short * 5 < whole, "{short} of {whole} bytes");
}
