//! What users read: phrases that are not used any more, and every sentence that the program may print.

use crate::sources::flatten;
use proc_macro2::TokenStream;
use std::collections::BTreeSet;
use std::path::Path;

/// Phrases with a plain replacement. Written in two parts, so that this file does not contain them itself.
const AVOIDED: &[(&str, &str)] = &[
    ("and so do its ", "times"),
    ("answers wrongly, ", "so it is"),
    ("anyone who ", "reaches"),
    ("asked for ", "isolation"),
    ("asks no one ", "who"),
    ("before the run is ", "wrong"),
    ("calls a ", "second"),
    ("cannot be ", "believed"),
    ("cannot be told", ", "),
    ("confirming ", "trials"),
    ("Cost of ", "agreeing"),
    ("could not be put ", "down to"),
    ("data hold ", "what"),
    ("given up", "\""),
    ("held ", "against"),
    ("is void", ":"),
    ("keeps ", "nothing:"),
    ("likely gives ", "out"),
    ("made an", "ew"),
    ("met a ", "defect"),
    ("never ", "begun"),
    ("no database of ", "ours"),
    ("No ratio is ", "given"),
    ("not surely ", "kept"),
    ("number is ", "void"),
    ("processor ", "time"),
    ("sets the ", "throughput"),
    ("somebody's ", "server"),
    ("stops ", "paying"),
    ("surely ", "better"),
    ("surely ", "worse"),
    ("That number is not a ", "result"),
    ("this is its ", "speed"),
    ("Too noisy to ", "tell"),
    ("vouches ", "for it"),
    ("went down, with all ", "data"),
    ("were answered as the workload ", "asks"),
];

/// Words with a plain replacement, which no text for users has.
const AVOIDED_WORDS: &[&str] = &[
    "anew",
    "answered wrongly",
    "answers wrongly",
    "anybody",
    "cannot be told",
    "cannot tell",
    "gives out",
    "held against",
    "kit",
    "kits",
    "measured interval",
    "measured intervals",
    "never begun",
    "nobody",
    "our",
    "ours",
    "ourselves",
    "processor",
    "processors",
    "saboteur",
    "saboteurs",
    "set the throughput",
    "sets the throughput",
    "somebody",
    "surely",
    "us",
    "void",
    "vouch",
    "vouches",
    "we",
];

/// Crates whose text users read.
const READ: &[&str] = &[
    "adapter-http",
    "adapter-mysql-async",
    "adapter-rusqlite",
    "adapter-sqlx",
    "adapter-tokio-postgres",
    "admin",
    "broker",
    "cli",
    "consumer",
    "contract",
    "deploy",
    "drill",
    "drive",
    "judge",
    "measure",
    "model",
    "observe",
    "pair-diesel",
    "pair-tpcc",
    "pair-transfer",
    "relay",
    "report",
    "result",
    "rig",
    "schedule",
    "server",
    "slow-storage",
    "sql",
    "targets",
    "transport",
    "trial",
    "verify",
    "workload",
    "workload-booking",
    "workload-catalogue",
    "workload-tpcb",
    "workload-tpcc",
    "workload-transfer",
];

/// The avoided phrases that a file contains, wherever its lines are broken.
pub fn avoided(path: &Path, text: &str) -> Vec<String> {
    let joined: String = text.replace("\\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let phrases = AVOIDED.iter().map(|(first, second)| format!("{first}{second}"));
    let found = phrases.filter(|phrase| joined.contains(phrase.trim_end()));
    found.map(|phrase| format!("{}: `{phrase}`", path.display())).collect()
}

/// The avoided words that a text for users contains, in capitals or not, with what stands around each.
pub fn avoided_words(path: &Path, text: &str) -> Vec<String> {
    let joined: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lower = joined.to_lowercase();
    let is_part = |letter: char| letter.is_alphanumeric() || "-_{}".contains(letter);
    let mut found = Vec::new();
    for word in AVOIDED_WORDS {
        let alone = lower.match_indices(word).filter(|(at, _)| {
            let (before, behind) = (&lower[..*at], &lower[at + word.len()..]);
            !before.ends_with(is_part) && !behind.starts_with(is_part)
        });
        found.extend(alone.map(|(at, _)| {
            let around: String = lower[at..].chars().take(60).collect();
            format!("{}: `{word}` in `{around}`", path.display())
        }));
    }
    found
}

/// The sentences that a source file of the program may print: literals of two words or more outside of tests and SQL, and the help of options.
pub fn sentences(path: &Path, text: &str) -> Result<BTreeSet<String>, String> {
    let mut parts = path.iter().map(|part| part.to_string_lossy());
    let (Some(crates), Some(krate), Some(src)) = (parts.next(), parts.next(), parts.next()) else {
        return Ok(BTreeSet::new());
    };
    let is_test = path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests"));
    if path.extension().is_none_or(|is| is != "rs")
        || crates != "crates"
        || src != "src"
        || is_test
        || !READ.contains(&&*krate)
    {
        return Ok(BTreeSet::new());
    }
    let stream: TokenStream =
        text.parse().map_err(|error| format!("{}: not Rust: {error}", path.display()))?;
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
    let mut found: BTreeSet<String> = tokens.iter().filter_map(|(token, _)| sentence(token)).collect();
    if path.starts_with("crates/cli/src/args") || path == Path::new("crates/cli/src/args.rs") {
        let help = text.lines().filter_map(|line| line.trim().strip_prefix("/// "));
        found.extend(help.map(str::to_owned));
    }
    Ok(found.into_iter().map(|sentence| format!("{krate}: {sentence}")).collect())
}

/// What a literal says, on one line; nothing where it is not a sentence.
fn sentence(token: &str) -> Option<String> {
    let inner = token.strip_prefix('"')?.strip_suffix('"')?;
    let joined: String = inner.replace("\\\n", "").split_whitespace().collect::<Vec<_>>().join(" ");
    let lower = joined.to_lowercase();
    let words = joined
        .split(' ')
        .filter(|word| word.chars().filter(|letter| letter.is_alphabetic()).count() > 1)
        .count();
    (words > 1 && !is_sql(&lower) && !joined.contains('<')).then_some(joined)
}

/// Whether a text in small letters is a statement: by its first word, and by what must follow that in SQL and seldom does in a sentence.
fn is_sql(text: &str) -> bool {
    let mut words = text.split(' ');
    let (Some(first), second) = (words.next(), words.next().unwrap_or_default()) else { return false };
    match first {
        "select" | "pragma" | "begin" | "begin;" => true,
        "insert" => ["into", "ignore"].contains(&second),
        "update" => text.contains(" set "),
        "delete" => second == "from",
        "set" => text.contains('=') || ["session", "global", "local", "transaction"].contains(&second),
        "with" => text.contains(" as ("),
        "create" | "drop" | "alter" => [
            "database",
            "event",
            "extension",
            "function",
            "if",
            "index",
            "or",
            "procedure",
            "publication",
            "role",
            "schema",
            "sequence",
            "server",
            "table",
            "temporary",
            "trigger",
            "unique",
            "unlogged",
            "user",
            "view",
        ]
        .contains(&second),
        _ => false,
    }
}
