//! The workloads that exist.

/// Runs `$body` with `$W` standing for the type of the workload called `$name`, which is one of `subjects::workloads`.
macro_rules! of_workload {
    ($name:expr, $W:ident => $body:expr) => {
        match $name {
            "tpcc" => {
                type $W = workload_tpcc::Tpcc;
                $body
            }
            "tpcb" => {
                type $W = workload_tpcb::Tpcb;
                $body
            }
            other => anyhow::bail!("no workload `{other}`"),
        }
    };
}
pub(crate) use of_workload;
