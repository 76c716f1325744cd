// The sign-in page forgets what the tab keeps of messages to runs, see `queued.js`: the next viewer may be another person.
try {
  for (const key of Object.keys(sessionStorage)) {
    if (key.startsWith("queued ")) sessionStorage.removeItem(key);
  }
} catch (fault) {
  console.warn("queued messages not removed", fault);
}
