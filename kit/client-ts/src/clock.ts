/** The time, and what waits for it. Tests replace it. */
export interface Clock {
  /** Returns the time in milliseconds since 1970. */
  now(): number;
  /**
   * Calls a function once after a time in milliseconds, and returns how to cancel that.
   */
  after(milliseconds: number, call: () => void): () => void;
}

/** The longest time that timers of JavaScript can wait: almost 25 days. */
const longest = 2 ** 31 - 1;

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(milliseconds, call) {
    if (milliseconds > longest) return () => {}; // a timer would fire at once
    const timer = setTimeout(call, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** Waits. It rejects with the reason of the signal as soon as that is aborted. */
export function sleep(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const end = () => {
      cancel();
      reject(signal.reason);
    };
    const cancel = clock.after(milliseconds, () => {
      signal.removeEventListener('abort', end);
      resolve();
    });
    signal.addEventListener('abort', end, { once: true });
  });
}
