//! Experiment files: a question, the variants that may answer it, and a plan, as TOML. See `docs/experiments.md`.
//!
//! Everything that can be wrong with one is found here, before anything is loaded or started, and reported with its line.

mod expand;
mod shared_keys;
mod source;
mod variant;
mod verdict;

#[cfg(test)]
mod tests;

use anyhow::{Context, Result, anyhow, bail};
use deploy::subjects;
use schedule::factors;
use schedule::plan::Experiment;
use shared_keys::{PLAN, PLAN_WHOLE, Word, Words};
use source::{KeyValue, Source, ValueKind, get, nearest};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use targets::Driven;
use variant::{Common, Draft};

/// Bytes of an experiment file: more is another file by mistake.
const BYTES_MAX: u64 = 1 << 20;
/// Where experiments are looked for by name.
const FOLDER: &str = "experiments";

/// Experiments that come with the program, by name.
pub(crate) const BUILT_IN: [(&str, &str); 12] = [
    ("http-tax", include_str!("../experiments/http-tax.toml")),
    ("http-settings", include_str!("../experiments/http-settings.toml")),
    ("drivers", include_str!("../experiments/drivers.toml")),
    ("embedded", include_str!("../experiments/embedded.toml")),
    ("durability", include_str!("../experiments/durability.toml")),
    ("settings", include_str!("../experiments/settings.toml")),
    ("distributed", include_str!("../experiments/distributed.toml")),
    ("pool-size", include_str!("../experiments/pool-size.toml")),
    ("shard-scaling", include_str!("../experiments/shard-scaling.toml")),
    ("shard-scaling-tpcb", include_str!("../experiments/shard-scaling-tpcb.toml")),
    ("one-connection", include_str!("../experiments/one-connection.toml")),
    ("n-plus-one", include_str!("../experiments/n-plus-one.toml")),
];

/// Those whose servers are in the repository, so that the program does not carry them.
const OF_SERVERS: [&str; 4] = ["languages", "outbox-cost", "outbox-cost-published", "python"];

/// An experiment by the path of its file, or by its name: `experiments/NAME.toml` here, or one that comes with the program.
///
/// # Errors
/// When there is none, or something is wrong with it.
pub(crate) fn find(name_or_path: &str, resolve: Resolve<'_>) -> Result<Experiment> {
    let passed = Path::new(name_or_path);
    let is_path = passed.extension().is_some_and(|end| end == "toml") || passed.components().count() > 1;
    if is_path || passed.is_file() {
        return read(passed, resolve);
    }
    let here = Path::new(FOLDER).join(format!("{name_or_path}.toml"));
    if here.is_file() {
        return read(&here, resolve);
    }
    if let Some((name, text)) = BUILT_IN.iter().find(|(name, _)| *name == name_or_path) {
        return parse(text, &PathBuf::from(format!("{name}.toml")), resolve);
    }
    if OF_SERVERS.contains(&name_or_path) {
        bail!(
            "the experiment `{name_or_path}` starts servers that are built in a clone of the repository\nhint: run it in one, and it builds \
             them; `stackmark doctor` says what they need"
        );
    }
    let names = || BUILT_IN.iter().map(|(name, _)| *name);
    let near = nearest(name_or_path, names()).map_or_else(String::new, |near| format!("; nearest: `{near}`"));
    bail!(
        "no experiment `{name_or_path}`{near}: there is no {}, and none of that name comes with the program\nhint: there \
         are {}; a file is given by its path",
        here.display(),
        names().collect::<Vec<_>>().join(", ")
    )
}

/// An experiment from its file.
///
/// # Errors
/// When it cannot be read, or something is wrong with it.
pub(crate) fn read(path: &Path, resolve: Resolve<'_>) -> Result<Experiment> {
    let about = fs::metadata(path).with_context(|| format!("could not read {}", path.display()))?;
    if about.len() > BYTES_MAX {
        bail!("{} is too large for an experiment", path.display());
    }
    let bytes = fs::read(path).with_context(|| format!("could not read {}", path.display()))?;
    match String::from_utf8(bytes) {
        Ok(text) => parse(&text, path, resolve),
        Err(error) => {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
            bail!("{}:{line}: not text in UTF-8", path.display())
        }
    }
}

/// An experiment from its text. `path` is where that stands: it gives the name, and errors begin with it.
///
/// # Errors
/// What is wrong, the line it is on, and what would be right.
pub(crate) fn parse(text: &str, path: &Path, resolve: Resolve<'_>) -> Result<Experiment> {
    let source = Source::new(path, text);
    let top = source.entries()?;
    source.known(
        &top,
        "an experiment",
        &["question", "workload", "scale", "notes", "plan", "verdict", "variant"],
    )?;
    let Some(workload) = get(&top, "workload") else {
        return Err(source.wrong(&(0..0), "the workload is missing: write workload = \"tpcc\""));
    };
    let name = subjects::workload(source.text(workload, "\"tpcc\"")?)
        .map_err(|error| source.wrong(&workload.value.span, error))?;
    resolve(ExperimentFile { source, workload: name, top: &top, path })
}

/// What reads the rest of a file, of whose workload it knows the type: [`resolve`] of that.
pub(crate) type Resolve<'a> = &'a dyn Fn(ExperimentFile<'_>) -> Result<Experiment>;

/// A file whose workload is known.
pub(crate) struct ExperimentFile<'a> {
    source: Source<'a>,
    pub(crate) workload: &'static str,
    top: &'a [KeyValue],
    path: &'a Path,
}

pub(crate) fn resolve<W: Driven>(file: ExperimentFile<'_>) -> Result<Experiment> {
    let ExperimentFile { source, workload, top, path } = file;
    let asked = scale::<W>(&source, top)?;
    let (plan, control) = plan::<W>(&source, top)?;
    let criteria = verdict::read::<W>(&source, top)?;
    let args = plan.line(&source, &(0..0))?;
    let mut common = Common { source, workload, scale: asked.unwrap_or(W::SCALE_DEFAULT), plan };
    let mut drafts = self::drafts::<W>(&common, top)?;
    if asked.is_none() {
        // It depends on the variants, and their plans on it.
        let all = drafts.iter().flat_map(|group| &group.drafts);
        let each = all.map(|draft| W::scale_default(draft.subject.how.dialect, draft.variant.plan.workers));
        common.scale = each.max().unwrap_or(W::SCALE_DEFAULT);
        drafts = self::drafts::<W>(&common, top)?;
    }
    let scale = common.scale;
    let mut experiment = Experiment {
        name: path
            .file_stem()
            .map_or_else(|| "experiment".into(), |stem| stem.to_string_lossy().into_owned()),
        question: get(top, "question")
            .map(|entry| source.text(entry, "\"What does HTTP cost?\"").map(|text| text.trim().to_owned()))
            .transpose()?,
        workload: workload.to_owned(),
        scale,
        blocks: args.blocks,
        control,
        criteria,
        accept_inconclusive: false,
        require_audit: false,
        seed: args.plan.seed,
        variants: Vec::new(),
        notes: notes(&source, top)?,
        suspicion: None,
        precision: None,
        time: None,
    };
    add_variants(&common, drafts, &mut experiment)?;
    Ok(experiment)
}

/// The scale that is asked for.
fn scale<W: Driven>(source: &Source<'_>, top: &[KeyValue]) -> Result<Option<u32>> {
    let Some(entry) = get(top, "scale") else { return Ok(None) };
    let ValueKind::Whole(digits) = &entry.value.kind else {
        return Err(source.mistyped(entry, "a whole number", "10"));
    };
    let within = digits.parse::<u32>().ok().filter(|scale| (1..=W::SCALE_MAX).contains(&u64::from(*scale)));
    within.map(Some).ok_or_else(|| {
        source.wrong(
            &entry.value.span,
            format!("`scale` is {digits}; it must be 1 to {} {}", W::SCALE_MAX, W::SCALE_UNIT),
        )
    })
}

/// Defaults of variants for the load generator, and whether bases run twice.
fn plan<W: Driven>(source: &Source<'_>, top: &[KeyValue]) -> Result<(Words, bool)> {
    let Some(table) = get(top, "plan") else { return Ok((Words::default(), true)) };
    let entries = source.table(table, "[plan]")?;
    let keys: Vec<&str> =
        PLAN.iter().chain(PLAN_WHOLE).copied().chain(shared_keys::parameters::<W>()).collect();
    source.known(entries, "the plan", &keys)?;
    if let Some(list) = entries.iter().find(|entry| matches!(entry.value.kind, ValueKind::List(_))) {
        return Err(source.wrong(
            &list.value.span,
            format!("`{}` is one value for the whole experiment\nhint: lists are for variants", list.key),
        ));
    }
    let words = entries
        .iter()
        .filter(|entry| entry.key != "control")
        .map(|entry| Word::read(source, entry))
        .collect::<Result<_>>()?;
    let control = get(entries, "control").map(|entry| source.truth(entry)).transpose()?;
    Ok((Words(words), control.unwrap_or(true)))
}

fn notes(source: &Source<'_>, top: &[KeyValue]) -> Result<Vec<String>> {
    let Some(entry) = get(top, "notes") else { return Ok(Vec::new()) };
    let wrong = || source.mistyped(entry, "a list of texts", "[\"One machine.\"]");
    let ValueKind::List(values) = &entry.value.kind else { return Err(wrong()) };
    values
        .iter()
        .map(|value| match &value.kind {
            ValueKind::Text(text) => Ok(text.trim().to_owned()),
            _ => Err(wrong()),
        })
        .collect()
}

/// The variants of one `[[variant]]`, which are compared with the first of them if it is a base.
struct VariantGroup {
    drafts: Vec<Draft>,
}

fn drafts<W: Driven>(common: &Common<'_>, top: &[KeyValue]) -> Result<Vec<VariantGroup>> {
    let source = &common.source;
    let Some(entry) = get(top, "variant") else {
        return Err(source.wrong(&(0..0), "there is no variant: write [[variant]] once for each"));
    };
    let ValueKind::List(values) = &entry.value.kind else {
        return Err(source.mistyped(entry, "a list of tables", "[[variant]]"));
    };
    let (mut groups, mut number) = (Vec::new(), 0);
    for value in values {
        let ValueKind::Table(entries) = &value.kind else {
            return Err(source.wrong(&value.span, "a variant is a table: write [[variant]] above it"));
        };
        if let Some(entry) = entries.iter().find(|entry| PLAN_WHOLE.contains(&entry.key.as_str())) {
            return Err(source.wrong(
                &entry.key_span,
                format!("`{}` is the same for all variants: it belongs under [plan]", entry.key),
            ));
        }
        source.known(entries, "a variant", &variant::keys::<W>())?;
        let combinations = expand::expand(source, entries, &value.span)?;
        number += combinations.len();
        expand::check_number(source, number, &value.span)?;
        let drafts =
            combinations.iter().map(|one| common.draft::<W>(one, &value.span)).collect::<Result<_>>()?;
        groups.push(VariantGroup { drafts });
    }
    if number < 2 {
        return Err(
            source.wrong(&entry.key_span, "one variant is nothing to compare: write [[variant]] once more")
        );
    }
    Ok(groups)
}

/// Names the variants and finds what each is compared with.
fn add_variants(common: &Common<'_>, groups: Vec<VariantGroup>, experiment: &mut Experiment) -> Result<()> {
    let source = &common.source;
    let all = || groups.iter().flat_map(|group| &group.drafts);
    let one_subject = all().all(|draft| Some(draft.subject) == all().next().map(|first| first.subject));
    let mut names: HashMap<String, usize> = HashMap::new();
    // A name that stands for several variants is that of the first of them.
    let mut groups_named: HashMap<String, usize> = HashMap::new();
    for group in groups {
        let first = experiment.variants.len();
        for draft in group.drafts {
            let index = experiment.variants.len();
            let name = name(common, &draft, one_subject);
            if names.insert(name.clone(), index).is_some() {
                let span = draft.named.as_ref().map_or(&draft.span, |(_, span)| span);
                let what = if draft.named.is_some() { "give another" } else { "give each a `name`" };
                return Err(source.wrong(span, format!("two variants are called `{name}`: {what}")));
            }
            let base = base(source, &draft, index, first, &names, &groups_named, experiment)?;
            if let (Some((passed, _)), true) = (&draft.named, index == first) {
                groups_named.insert(passed.clone(), index);
            }
            let of_base = base.map(|base| &experiment.variants[base]);
            if let Some(of_base) = of_base.filter(|of_base| of_base.whole != draft.variant.whole) {
                let what = format!("`trials` is not that of its base, {}: give both the same", of_base.name);
                return Err(source.wrong(&draft.span, what));
            }
            let mut variant = draft.variant;
            variant.name = name;
            variant.base = base;
            if let Some(base) = base
                && variant.factors.is_empty()
            {
                variant.factors = factors::between(&experiment.variants[base], &variant);
            }
            experiment.variants.push(variant);
        }
    }
    Ok(())
}

fn name(common: &Common<'_>, draft: &Draft, one_subject: bool) -> String {
    let subject = || common.spoken("subject", draft.subject.path);
    let asked = || draft.variant.asked.iter().map(|(key, value)| common.spoken(key, value));
    match &draft.named {
        Some((name, _)) if draft.chosen.is_empty() => name.clone(),
        Some((name, _)) => format!("{name}: {}", draft.chosen.join(", ")),
        None if draft.variant.asked.is_empty() => subject(),
        None if one_subject => asked().collect::<Vec<_>>().join(", "),
        None => format!("{}: {}", subject(), asked().collect::<Vec<_>>().join(", ")),
    }
}

/// The place of the variant that a draft at `index` is compared with; none for a base. Its group begins at `first`.
fn base(
    source: &Source<'_>,
    draft: &Draft,
    index: usize,
    first: usize,
    names: &HashMap<String, usize>,
    groups: &HashMap<String, usize>,
    experiment: &Experiment,
) -> Result<Option<usize>> {
    let variants = &experiment.variants;
    if let Some((_, span)) = draft.against.as_ref().filter(|_| draft.is_base) {
        return Err(source.wrong(span, "a base is compared with nothing: leave `base` or `against` out"));
    }
    if draft.is_base {
        // Of a list the first is the base, and the others are compared with it.
        return Ok((index != first).then_some(first));
    }
    let Some((wanted, span)) = &draft.against else { return Ok((index != 0).then_some(0)) };
    if index == 0 {
        return Err(source.wrong(span, "the first variant is a base: nothing stands above it"));
    }
    let found = names.get(wanted).filter(|found| **found != index).or_else(|| groups.get(wanted));
    match found.map(|found| (*found, variants[*found].base)) {
        Some((found, None)) => Ok(Some(found)),
        Some((_, Some(its))) => Err(source.wrong(
            span,
            format!(
                "`{wanted}` is not a base: it is compared with `{}` itself\nhint: name that one, or give `{wanted}` the key \
                 base = true",
                variants[its].name
            ),
        )),
        None => {
            let bases = || variants.iter().filter(|variant| variant.base.is_none()).map(|variant| variant.name.as_str());
            let near = nearest(wanted, bases()).map_or_else(String::new, |near| format!("; nearest: `{near}`"));
            let above = bases().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            Err(source.wrong(span, anyhow!("no variant above is called `{wanted}`{near}\nhint: bases above are {above}")))
        }
    }
}
