//! The bot in a real container, started by the edge (document 1 sections 4.6 and 7, resident supplement 13).

mod passing;
