// An event stream that is opened again when a browser gives up on it. It does so at every answer but 200, and during a
// deployment the service answers 503.

/** Wait before the first attempt, in milliseconds. It doubles with each further one. */
const FIRST_WAIT_MS = 500;
/** Greatest wait between two attempts. */
const MAX_WAIT_MS = 10_000;
/** Longest time without the service, as for `ars watch`. */
const GIVE_UP_MS = 300_000;

/**
 * Keeps a stream open. `open` returns a new EventSource. `isOver` is asked before each further attempt and resolves to
 * true if there will be no stream any more. `lost` is called when the service did not return in time.
 */
export function keepOpen(open, { connected, reconnecting, lost, isOver = async () => false }) {
  let wait = FIRST_WAIT_MS;
  let lostAt = null;

  const begin = () => {
    const source = open();
    source.onopen = () => {
      wait = FIRST_WAIT_MS;
      lostAt = null;
      connected();
    };
    source.onerror = () => {
      reconnecting();
      if (source.readyState === EventSource.CLOSED) again();
    };
  };
  const again = async () => {
    lostAt ??= Date.now();
    if (await isOver()) return;
    if (Date.now() - lostAt > GIVE_UP_MS) return lost();
    setTimeout(begin, wait);
    wait = Math.min(wait * 2, MAX_WAIT_MS);
  };
  begin();
}
