//! TPC-C 5.11: calls, outcomes, inputs, rows, transactions, oracle and ledger.
