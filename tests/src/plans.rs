//! Plans that PostgreSQL makes of a workload's statements in a database that was just loaded.

use crate::calls::runtime;
use crate::loaded_db::LoadedDb;
use crate::test_engines::OnPostgres;
use adapter_tokio_postgres::{Connected, connect};
use sql::DbUrl;
use targets::Driven;
use tokio_postgres::SimpleQueryMessage;

/// Statements whose generic plan scans a table that has no rows yet. A session keeps that plan while the table grows.
///
/// # Panics
/// When a statement cannot be planned.
pub fn scans_of_empty_tables<W: Driven>(size: W::Extent, statements: &[String]) -> Vec<String> {
    let loaded_db = LoadedDb::<W>::on::<OnPostgres>(size);
    let DbUrl::Server(url) = loaded_db.place() else { panic!("PostgreSQL is a server") };
    runtime().block_on(async {
        let mut connected = connect(&url).await.expect("a database that was just loaded");
        let empty = column(
            &mut connected,
            "select relname from pg_class \
             where relkind = 'r' and relnamespace = 'public'::regnamespace and pg_relation_size(oid) = 0",
        )
        .await;
        assert!(!empty.is_empty(), "no table is empty");
        column(&mut connected, "set plan_cache_mode = force_generic_plan").await;
        let mut scans = Vec::new();
        for (number, statement) in statements.iter().enumerate() {
            let text = statement.replace('?', "$");
            let params = (1..).take_while(|param| text.contains(&format!("${param}"))).count();
            column(&mut connected, &format!("prepare s{number} as {text}")).await;
            let values = vec!["null"; params].join(", ");
            let list = if params == 0 { String::new() } else { format!("({values})") };
            let plan = column(&mut connected, &format!("explain execute s{number}{list}")).await.join("\n");
            let scanned = |table: &&String| {
                let scan = format!("Seq Scan on {table}");
                plan.lines().any(|line| {
                    line.split_once(&scan).is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with(' '))
                })
            };
            scans.extend(empty.iter().filter(scanned).map(|table| format!("{table}: {statement}\n{plan}")));
        }
        scans
    })
}

/// The first column of what a statement returns.
async fn column(Connected { client, link, .. }: &mut Connected, text: &str) -> Vec<String> {
    let messages = link.until(client.simple_query(text)).await;
    let messages = messages.unwrap_or_else(|error| panic!("{error:?}: {text}"));
    let rows = messages.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_owned()),
        _ => None,
    });
    rows.collect()
}
