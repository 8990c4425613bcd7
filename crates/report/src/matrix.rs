//! The effects of an experiment as one table: a row for each base, a column for each variant, or the other way round.

use crate::block::{Cell, Column, Level, Table, Tone, figure, mark, words};
use crate::variants::{ByMetric, RowStatus, VariantRow, effect_short};
use judge::figures;
use result::Verdict;

/// Verdicts in the order in which they are counted and explained.
pub(crate) const VERDICTS: [Verdict; 5] =
    [Verdict::Better, Verdict::Worse, Verdict::NoDifference, Verdict::Inconclusive, Verdict::NotComparable];
/// What separates the parts of a variant's name: `categories, small: postgres/net-http+pgx`.
const SEPARATORS: [&str; 2] = [": ", ", "];

/// How the variants of an experiment lie in a table: by the parts of their names.
pub(crate) struct Matrix {
    groups: Vec<BaseGroup>,
    /// What bases are called, where all are called the same, and else `base`.
    base: String,
    /// What each is called where they are not, as a sentence says it.
    bases: Option<String>,
    /// What variants are called within their groups, in the order in which they first occur.
    labels: Vec<String>,
}

/// A base and what is compared with it.
struct BaseGroup {
    name: String,
    /// Its place among the rows.
    base: usize,
    control: Option<usize>,
    /// For each label, the place of the variant among the rows.
    members: Vec<Option<usize>>,
}

impl Matrix {
    /// The matrix of an experiment, where its names form one: several bases, each sharing the first parts of its name with what is
    /// compared with it and with no other base, and variants of which at least half occur in each group.
    pub(crate) fn of(rows: &[VariantRow<'_>]) -> Option<Matrix> {
        let bases = (0..rows.len()).filter(|at| rows[*at].variant.base.is_none());
        let found: Option<Vec<Named>> = bases.map(|base| Named::of(rows, base)).collect();
        let mut found = found.filter(|found| found.len() >= 2)?;
        let path = common_path(rows);
        for named in &mut found {
            let own = named.members.iter_mut().map(|(_, label)| label).chain([&mut named.label]);
            own.for_each(|label| *label = without(label, &path));
        }
        let labels_of =
            |named: &Named| named.members.iter().map(|(_, label)| label.clone()).collect::<Vec<_>>();
        let is_ambiguous = |names: &[String]| (1..names.len()).any(|at| names[..at].contains(&names[at]));
        let groups: Vec<String> = found.iter().map(|named| named.group.clone()).collect();
        if is_ambiguous(&groups) || found.iter().any(|named| is_ambiguous(&labels_of(named))) {
            return None;
        }
        let mut labels: Vec<String> = Vec::new();
        for label in found.iter().flat_map(labels_of) {
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        let cells: usize = found.iter().map(|named| named.members.len()).sum();
        if 2 * cells < found.len() * labels.len() {
            return None;
        }
        let first = &found[0].label;
        let is_one = !first.is_empty() && found.iter().all(|named| named.label == *first);
        let (base, bases) = match is_one {
            true => (first.clone(), None),
            false => {
                let names = found.iter().map(|named| rows[named.base].variant.name.clone());
                ("base".to_owned(), Some(names.collect::<Vec<_>>().join("; ")))
            }
        };
        let of_label = |named: &Named, label: &String| {
            named.members.iter().find(|(_, own)| own == label).map(|(at, _)| *at)
        };
        let groups = found.iter().map(|named| BaseGroup {
            name: named.group.clone(),
            base: named.base,
            control: named.control,
            members: labels.iter().map(|label| of_label(named, label)).collect(),
        });
        Some(Matrix { groups: groups.collect(), base, bases, labels })
    }

    /// Whether a row is a group and not a label: what there is more of goes down the page.
    fn is_by_group(&self) -> bool {
        self.groups.len() > self.labels.len()
    }

    /// The effects in one metric; nothing without a row. Groups whose every ratio is left out have no row.
    pub(crate) fn table(&self, by: &ByMetric<'_>) -> Table {
        let rows = &by.rows;
        let groups: Vec<&BaseGroup> = self.groups.iter().filter(|group| group.is_compared(rows)).collect();
        let is_shown = |label: &usize| groups.iter().any(|group| group.members[*label].is_some());
        let labels: Vec<usize> = (0..self.labels.len()).filter(is_shown).collect();
        let has_control = groups.iter().any(|group| group.control.is_some());
        let corner = by.metric.column();
        let value = |group: &BaseGroup| base_cell(&rows[group.base]);
        let effect = |group: &BaseGroup, label: usize| {
            group.members[label].map_or_else(|| Cell::from(""), |at| effect_cell(&rows[at]))
        };
        let control = |group: &BaseGroup| {
            let effect = group.control.and_then(|at| rows[at].effect);
            Cell::from(figures::or_none(effect, effect_short))
        };
        let caption = format!("{} relative to the base of each group", figures::capital(by.metric.words()));
        let titles = |first: &str, others: Vec<String>| -> Vec<Column> {
            std::iter::once(words(first)).chain(others.into_iter().map(figure)).collect()
        };
        if self.is_by_group() {
            let names = labels.iter().map(|label| self.labels[*label].clone());
            let others = std::iter::once(self.base.clone()).chain(names).collect();
            let mut titles = titles(&corner, others);
            titles.extend(has_control.then(|| figure("A/A").at(Level::Full)));
            let mut table = Table::new(caption, titles);
            for group in groups {
                let cells = labels.iter().map(|label| effect(group, *label));
                let cells = [Cell::from(group.name.as_str()), value(group)].into_iter().chain(cells);
                table.row(cells.chain(has_control.then(|| control(group))));
            }
            return table;
        }
        let names = groups.iter().map(|group| group.name.clone()).collect();
        let mut table = Table::new(caption, titles(&corner, names));
        let mut row = |name: &str, level: Level, cell: &dyn Fn(&BaseGroup) -> Cell| {
            let cells = groups.iter().map(|group| cell(group));
            table.row(std::iter::once(Cell::from(name)).chain(cells)).level = level;
        };
        if !groups.is_empty() {
            row(&self.base, Level::Always, &value);
            for label in labels {
                row(&self.labels[label], Level::Always, &|group| effect(group, label));
            }
            if has_control {
                row("A/A", Level::Full, &control);
            }
        }
        table
    }

    /// What the cells of all its tables mean; nothing where none has an effect.
    pub(crate) fn captions(&self, all: &[ByMetric<'_>]) -> Vec<String> {
        let rows = || all.iter().flat_map(ByMetric::shown);
        let has = |verdict: Verdict| {
            rows().any(|row| row.status == RowStatus::Compared(verdict) && row.effect.is_some())
        };
        let marks = VERDICTS.into_iter().filter(|verdict| has(*verdict));
        let marks: Vec<String> =
            marks.map(|verdict| format!("{}\u{a0}{}", mark(verdict), verdict.words())).collect();
        if marks.is_empty() {
            return Vec::new();
        }
        let base = &self.base;
        let line = if self.is_by_group() { "row" } else { "column" };
        let effects = format!(
            "Effects are relative to {base} in the same {line}, with 95 % intervals: {}.",
            marks.join(", ")
        );
        std::iter::once(effects).chain(self.bases.as_ref().map(|bases| format!("Bases: {bases}."))).collect()
    }
}

impl BaseGroup {
    /// Whether anything in it is compared in the metric of these rows.
    fn is_compared(&self, rows: &[VariantRow<'_>]) -> bool {
        self.members.iter().flatten().any(|at| !rows[*at].rate_is_given)
    }
}

/// A base and what is compared with it, by the parts of their names.
struct Named {
    /// The first parts, which all have in common.
    group: String,
    base: usize,
    /// The rest of the base's name; empty where the group is named as its base is.
    label: String,
    control: Option<usize>,
    /// The place of each variant and the rest of its name.
    members: Vec<(usize, String)>,
}

impl Named {
    /// Nothing where the names have no first part in common.
    fn of(rows: &[VariantRow<'_>], base: usize) -> Option<Named> {
        let of_base = |at: &usize| rows[*at].variant.base == Some(base);
        let (controls, others): (Vec<usize>, Vec<usize>) =
            (0..rows.len()).filter(of_base).partition(|at| rows[*at].variant.control);
        let own = parts(&rows[base].variant.name);
        let names: Vec<Vec<&str>> = others.iter().map(|at| parts(&rows[*at].variant.name)).collect();
        let is_common = |at: &usize| names.iter().all(|name| at + 1 < name.len() && name[*at] == own[*at]);
        let common = (0..own.len()).take_while(is_common).count();
        if common == 0 || others.is_empty() {
            return None;
        }
        let label = |name: &str| rest(name, common).to_owned();
        Some(Named {
            group: own[..common].join(", "),
            base,
            label: label(&rows[base].variant.name),
            control: controls.first().copied(),
            members: others.iter().map(|at| (*at, label(&rows[*at].variant.name))).collect(),
        })
    }
}

/// The parts of a name.
fn parts(name: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut left = name;
    while let Some((at, length)) = separator(left) {
        parts.push(&left[..at]);
        left = &left[at + length..];
    }
    parts.push(left);
    parts
}

/// A name without its first parts.
fn rest(name: &str, parts: usize) -> &str {
    let after = |left: &'_ str| separator(left).map_or(left.len(), |(at, length)| at + length);
    let from = (0..parts).fold(0, |from, _| from + after(&name[from..]));
    &name[from..]
}

/// Where the first separator is, and how long.
fn separator(text: &str) -> Option<(usize, usize)> {
    SEPARATORS.iter().filter_map(|separator| Some((text.find(separator)?, separator.len()))).min()
}

/// The first components of all subjects' paths without their workload, as names have them: `postgres/`. The last one of a path is not
/// part of it.
fn common_path(rows: &[VariantRow<'_>]) -> String {
    let path = |row: &VariantRow<'_>| -> Vec<String> {
        row.variant.subject.split('/').skip(1).map(str::to_owned).collect()
    };
    let paths: Vec<Vec<String>> = rows.iter().map(path).collect();
    let Some(first) = paths.first() else { return String::new() };
    let is_common = |at: &usize| paths.iter().all(|path| at + 1 < path.len() && path[*at] == first[*at]);
    let common = (0..first.len()).take_while(is_common);
    common.map(|at| format!("{}/", first[at])).collect()
}

/// A label without that path, where a part of it begins with it.
fn without(label: &str, path: &str) -> String {
    let at = label.find(path).filter(|at| *at == 0 || label[..*at].ends_with(' '));
    at.map_or_else(|| label.to_owned(), |at| format!("{}{}", &label[..at], &label[at + path.len()..]))
}

/// The value of a base.
fn base_cell(row: &VariantRow<'_>) -> Cell {
    // Whose interval is as wide as the value has none here.
    let words = |mean| {
        let figures::Estimate { value, uncertainty } = figures::estimate(mean);
        format!("{value} {}", uncertainty.margin()).trim_end().to_owned()
    };
    match row.status.is_measured() {
        true => figures::or_none(row.mean, words).into(),
        false => Cell::Badge(row.status.tone(), row.status.words().to_owned()),
    }
}

/// The effect of a variant with the mark of its verdict.
fn effect_cell(row: &VariantRow<'_>) -> Cell {
    if !row.status.is_measured() {
        return Cell::Badge(row.status.tone(), row.status.words().to_owned());
    }
    if row.rate_is_given {
        return "rate given".into();
    }
    match (row.effect, row.status) {
        (Some(effect), RowStatus::Compared(verdict)) => Cell::Marked(Tone::Of(verdict), effect_short(effect)),
        _ => figures::NONE.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_parts_and_a_rest() {
        let name = "0.5 CPU, half: postgres/tokio-postgres, shards 2";
        assert_eq!(parts(name), ["0.5 CPU", "half", "postgres/tokio-postgres", "shards 2"]);
        assert_eq!(rest(name, 2), "postgres/tokio-postgres, shards 2");
        assert_eq!(rest(name, 4), "");
        assert_eq!(parts("500,000 tickets"), ["500,000 tickets"]);
        assert_eq!(without("half: postgres/x, 2", "postgres/"), "half: x, 2");
        assert_eq!(
            ["postgres/y", "mypostgres/y", "y"].map(|label| without(label, "postgres/")),
            ["y", "mypostgres/y", "y"]
        );
        assert_eq!(without("y", ""), "y");
    }
}
