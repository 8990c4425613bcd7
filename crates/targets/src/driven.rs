//! What is compiled once a workload: its sessions behind pointers, the loop and the conformance.

/// Lets the subjects of a workload be driven, in the crate where this stands: `driven!(workload_x)` of a crate that has the
/// workload as its `X`, with `catalogue` and `conformance`; with a function in its place of what opens targets otherwise.
#[macro_export]
macro_rules! driven {
    ($workload:ident :: $W:ident) => {
        $crate::driven!($workload::$W, |how: $crate::How, url, clock| {
            $crate::over_statements(how, url, $workload::catalogue(how.dialect)?, clock)
        });
    };
    ($workload:ident :: $W:ident, $open:expr) => {
        $crate::driven!($workload::$W, $open,,);
    };
    // With a function of what opens targets on several stores, where a session in each by itself does not do; and one of what
    // makes a relay between them.
    ($workload:ident :: $W:ident, $open:expr, $($open_over:expr)?, $($relay:expr)?) => {
        impl $crate::Driven for $workload::$W {
            fn open(
                how: $crate::How,
                url: &$crate::parts::DbUrl,
                clock: $crate::parts::Monotonic,
            ) -> $crate::parts::Result<$crate::parts::AnyTarget<Self>> {
                let open: fn($crate::How, &$crate::parts::DbUrl, $crate::parts::Monotonic) -> _ = $open;
                open(how, url, clock)
            }

            $(fn open_over(
                how: $crate::How,
                stores: &[$crate::parts::DbUrl],
                size: &<Self as $crate::parts::Wire>::Extent,
                clock: $crate::parts::Monotonic,
            ) -> $crate::parts::Result<$crate::parts::AnyTarget<Self>> {
                $open_over(how, stores, size, clock)
            })?

            $(fn relay(
                how: $crate::How,
                stores: &[$crate::parts::DbUrl],
                size: &<Self as $crate::parts::Wire>::Extent,
                settings: $crate::parts::RelaySettings,
            ) -> $crate::parts::Result<Box<dyn $crate::parts::Relay>> {
                $relay(how, stores, size, settings)
            })?

            fn generator(
                plan: &$crate::parts::Plan,
                target: $crate::Sampled<Self>,
                inputs: &dyn Fn(u32) -> <Self as $crate::parts::Workload>::Inputs,
                clock: $crate::parts::Monotonic,
            ) -> ::std::result::Result<Box<dyn $crate::parts::LoadGenerator<Self>>, $crate::parts::RunError> {
                let target = ::std::sync::Arc::new(target);
                let generator = $crate::parts::Generator::open(plan, &target, inputs, clock)?;
                Ok(Box::new(generator))
            }

            fn conform(
                target: &$crate::TrialTarget<Self>,
                size: &<Self as $crate::parts::Wire>::Extent,
                seed: u64,
                random_calls: u32,
            ) -> $crate::parts::Result<
                ::std::result::Result<$crate::parts::Conformance, $crate::parts::Disagreement>,
            > {
                use $workload::conformance::{ConformancePlan, conform};
                $crate::wait_for(async {
                    let mut session = $crate::parts::Target::open(target, 0).await?;
                    let plan = ConformancePlan { size: *size, ..ConformancePlan::golden(seed, random_calls) };
                    Ok(conform(&mut session, &plan).await)
                })?
            }
        }
    };
}

driven!(workload_tpcc::Tpcc, crate::tpcc::open);
driven!(workload_tpcb::Tpcb);
driven!(workload_catalogue::FoodCatalogue, crate::catalogue::open);
driven!(workload_booking::Bookings, crate::booking::open,, crate::booking::relay);
driven!(
    workload_transfer::Transfers,
    crate::transfer::open,
    crate::transfer::open_over,
    crate::transfer::relay
);
