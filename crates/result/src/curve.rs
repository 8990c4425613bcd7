//! A load curve: one subject at increasing load.

use super::Interval;
use serde::{Deserialize, Serialize};

/// What `sweep` found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    pub axis: Axis,
    /// By rising load.
    pub points: Vec<Point>,
    /// The Universal Scalability Law through the points; `null` with fewer than four points, and over rates.
    pub fit: Option<Scalability>,
    /// Where more load brings no more throughput; `null` where it never did.
    pub knee: Option<Knee>,
    /// What the curve says, in one sentence or two.
    pub sentence: String,
}

/// What is raised from point to point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// Clients of a closed loop.
    Clients,
    /// Calls a second of an open loop.
    Rate,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// The load, in the axis's unit.
    pub load: f64,
    /// Its trials: indexes into the document's.
    pub trials: Vec<usize>,
    /// Throughput in the headline's unit; `null` where no trial is valid.
    pub rate: Option<Interval>,
    /// Median response time of committed calls in nanoseconds.
    pub p50_ns: Option<Interval>,
    /// 99th percentile of it.
    pub p99_ns: Option<Interval>,
    /// Who is saturated, in the words of the rule `saturation`.
    pub saturated: String,
}

/// `X(N) = λN / (1 + σ(N−1) + κN(N−1))` (Gunther, Guerrilla Capacity Planning, 2007, chapter 4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scalability {
    /// λ: throughput of one client, in the headline's unit.
    pub lambda: Interval,
    /// σ: the share that is serial (contention), 0 to 1.
    pub sigma: Interval,
    /// κ: the cost of agreeing (coherency), a pair of clients.
    pub kappa: Interval,
    /// Clients at which throughput is largest, `√((1−σ)/κ)`; `null` where κ is not surely above zero, and
    /// where the points are farther than a tenth from the law.
    pub peak_clients: Option<f64>,
    pub peak_rate: Option<f64>,
    /// Root of the mean squared distance of the points from the curve, as a share of throughput.
    pub error_share: f64,
}

/// Where more load brings no more throughput.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knee {
    pub load: f64,
    pub rate: f64,
    /// How it was found, and what it means.
    pub sentence: String,
}

impl Scalability {
    /// Throughput that the law gives for a number of clients.
    pub fn rate(&self, clients: f64) -> f64 {
        let growth = 1.0 + self.sigma.value * (clients - 1.0) + self.kappa.value * clients * (clients - 1.0);
        self.lambda.value * clients / growth
    }
}
