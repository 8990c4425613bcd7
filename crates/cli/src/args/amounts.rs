//! How much data, and what else a workload lets users choose: options that come from the workloads themselves.

use crate::ui::Ui;
use crate::workloads::{self, WorkloadRow};
use anyhow::{Result, bail};
use clap::builder::RangedU64ValueParser;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use deploy::database::scale_of;
use judge::figures::counted;
use sql::Dialect;
use targets::Driven;
use workload::{CLIENTS, Chosen, Of, amount};

const SCALE: &str = "scale";
const HEADING: &str = "Options of single workloads";

/// Values of the options, by their names.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Amounts(Chosen);

impl Amounts {
    /// The scale that is asked for, by its own option or by that of what it counts.
    pub(crate) fn scale<W: Driven>(&self) -> Result<Option<u32>> {
        let given = [SCALE, W::SCALE_UNIT].iter().find_map(|name| self.0.get(*name));
        given.map(|scale| scale_of::<W>(*scale)).transpose()
    }

    /// The scale of data that is loaded here into such engines, split over so many stores and used by so many clients at a time.
    /// Where it is not asked for, prints which it is and why.
    pub(crate) fn scale_for<W: Driven>(
        &self,
        engines: &[Dialect],
        shards: u32,
        clients: u32,
        ui: &Ui,
    ) -> Result<u32> {
        if let Some(asked) = self.scale::<W>()? {
            return Ok(asked);
        }
        let of_clients = default_for::<W>(engines, clients);
        let scale = of_clients.max(shards);
        workload::split::<W>(W::standard(scale), shards)?;
        if scale != W::SCALE_DEFAULT {
            let users = match scale > of_clients {
                true => counted(shards.into(), "store"),
                false => format!("{} on a database server", counted(clients.into(), "client")),
            };
            let amount = amount::<W>(scale.into());
            ui.remark(&format!("{amount}, the default for {users}; --scale sets another"));
        }
        Ok(scale)
    }

    /// What is chosen of the workload's parameters.
    ///
    /// # Errors
    /// An option of another workload was given, or values that do not go together.
    pub(crate) fn chosen<W: Driven>(&self) -> Result<Chosen> {
        let mut chosen = self.0.clone();
        chosen.retain(|name, _| name != SCALE && name != W::SCALE_UNIT);
        if let Some(unit) = chosen.keys().find(|name| workloads::scale_units().any(|unit| unit == *name)) {
            let own = if is_word(W::SCALE_UNIT) { W::SCALE_UNIT } else { SCALE };
            bail!("--{unit} is the scale of another workload; that of {} is --{own}", W::NAME);
        }
        workload::sized::<W>(W::SCALE_DEFAULT, &chosen)?;
        Ok(chosen)
    }

    /// What is chosen for data without calls.
    ///
    /// # Errors
    /// Those of [`Amounts::chosen`], and an option that is about calls.
    pub(crate) fn chosen_for_data<W: Driven>(&self) -> Result<Chosen> {
        let chosen = self.chosen::<W>()?;
        for name in chosen.keys() {
            if workload::parameter::<W>(name)?.of == Of::Calls {
                bail!("--{name} is about calls, and loading makes none\nhint: give it to `run` or `compare`");
            }
        }
        Ok(chosen)
    }

    /// The same as options, with a space before each.
    pub(crate) fn typed(&self) -> String {
        self.0.iter().map(|(name, value)| format!(" --{name} {value}")).collect()
    }

    #[cfg(test)]
    pub(crate) fn of(given: &[(&str, u64)]) -> Amounts {
        Amounts(given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect())
    }
}

/// The scale of data in such engines where none is asked for: the same in all of them.
fn default_for<W: Driven>(engines: &[Dialect], clients: u32) -> u32 {
    engines.iter().map(|engine| W::scale_default(*engine, clients)).max().unwrap_or(W::SCALE_DEFAULT)
}

/// Whether a unit can be an option: `events`, and not `thousand foods`.
fn is_word(unit: &str) -> bool {
    !unit.contains(' ')
}

/// The default of `--scale`, with the workloads that have another.
fn scale_help() -> String {
    let units: Vec<String> =
        workloads::all().map(|row| format!("{} of {}", row.scale_unit, row.name)).collect();
    let embedded = |row: &WorkloadRow| (row.scale_default)(Dialect::Sqlite, CLIENTS);
    let served = |row: &WorkloadRow| (row.scale_default)(Dialect::Postgres, CLIENTS);
    let other = workloads::all().filter(|row| embedded(row) != 1);
    let other: String = other.map(|row| format!(", for {} {}", row.name, embedded(row))).collect();
    let larger = workloads::all().filter(|row| served(row) != embedded(row));
    let larger: Vec<String> = larger.map(|row| format!("for {} {}", row.name, served(row))).collect();
    format!(
        "Scale of the data to load, or of the data that is there: {} [default: 1{other}; on PostgreSQL and MariaDB with {CLIENTS} \
         clients {}; at least one for each store]",
        units.join(", "),
        larger.join(", ")
    )
}

fn option(name: &'static str, help: String) -> Arg {
    Arg::new(name).long(name).value_name("N").help(help).allow_hyphen_values(true)
}

fn augment(mut command: Command) -> Command {
    let whole = || RangedU64ValueParser::<u64>::new();
    command = command.arg(option(SCALE, scale_help()).value_parser(whole()));
    for row in workloads::all() {
        if is_word(row.scale_unit) && !row.parameters.is_empty() {
            let default = (row.scale_default)(Dialect::Sqlite, CLIENTS);
            let help = format!("{}: the same as --scale [default: {default}]", row.name);
            let unit = option(row.scale_unit, help).value_parser(whole()).conflicts_with(SCALE);
            command = command.arg(unit.help_heading(HEADING));
        }
        for parameter in row.parameters {
            let parser = whole().range(parameter.min..=parameter.max);
            let of_data = if parameter.of == Of::Data { ", or what a loaded database must have" } else { "" };
            let help = format!("{}: {}{of_data} [default: {}]", row.name, parameter.help, parameter.default);
            command = command.arg(option(parameter.name, help).value_parser(parser).help_heading(HEADING));
        }
    }
    command
}

impl Args for Amounts {
    fn augment_args(command: Command) -> Command {
        augment(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        augment(command)
    }
}

impl FromArgMatches for Amounts {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Amounts, Error> {
        let units = workloads::scale_units();
        let parameters = workloads::all().flat_map(|row| row.parameters).map(|parameter| parameter.name);
        let given = std::iter::once(SCALE).chain(units).chain(parameters);
        let pairs = given.filter_map(|name| {
            let value = matches.try_get_one::<u64>(name).ok().flatten()?;
            Some((name.to_owned(), *value))
        });
        Ok(Amounts(pairs.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.extend(Amounts::from_arg_matches(matches)?.0);
        Ok(())
    }
}
