//! Holds no code: the checks are in tests/.
