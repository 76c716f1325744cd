// Work on many events in short tasks, so that the page stays responsive.

/** Longest part of one task, in milliseconds. */
const SLICE_MS = 8;

/** A queue of events that are shown in order. */
export class Slices {
  /** `show` shows one event. `around` wraps the work of one task. */
  constructor(show, around = (work) => work()) {
    this.show = show;
    this.around = around;
    this.queue = [];
    this.at = 0;
    this.scheduled = false;
    this.waiting = [];
  }

  /** Adds events. */
  push(...events) {
    for (const event of events) this.queue.push(event);
    this.schedule();
  }

  /** Resolves when every event so far is shown. */
  drained() {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      this.schedule();
    });
  }

  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    // A hidden page draws no frames.
    if (document.hidden) setTimeout(() => this.work(), 0);
    else requestAnimationFrame(() => this.work());
  }

  work() {
    this.scheduled = false;
    const until = performance.now() + SLICE_MS;
    this.around(() => {
      while (this.at < this.queue.length && performance.now() < until) {
        this.show(this.queue[this.at]);
        this.at += 1;
      }
    });
    if (this.at < this.queue.length) return this.schedule();
    this.queue = [];
    this.at = 0;
    for (const resolve of this.waiting.splice(0)) resolve();
    return undefined;
  }
}
