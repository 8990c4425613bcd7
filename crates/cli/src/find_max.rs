//! `stackmark find-max`: the highest rate of an open loop that keeps a service level.

use crate::args;
use crate::sweep::under_load;
use crate::ui::Ui;
use anyhow::Result;
use deploy::Subject;
use schedule::{Objective, Searching};
use targets::Driven;

pub(crate) fn asked<W: Driven>(
    subject: &'static Subject,
    args: &args::FindMax,
    ui: &Ui,
) -> Result<Searching> {
    let kinds: Vec<&str> = W::KINDS.iter().map(|kind| kind.name).collect();
    Objective::parse(&args.slo, &kinds)?;
    let clients = (args.in_flight, args.in_flight);
    let base = under_load::<W>(subject, &args.data, &args.load, &args.server, &args.engine, clients, ui)?;
    Ok(Searching { base, slo: args.slo.clone(), resolution: args.resolution, confirm: args.confirm })
}
