//! The narrow SQL port, statement catalogue and the fault table of each engine.
