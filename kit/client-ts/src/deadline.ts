import type { Clock } from './clock.js';

/** A signal that a clock aborts after a time, or another signal before that. */
export class Deadline {
  /**
   * Aborted with a `TimeoutError` at the deadline, or with the reason of the other
   * signal.
   */
  readonly signal: AbortSignal;

  #expired = false;
  readonly #clock: Clock;
  readonly #at: number;
  readonly #expire: () => void;
  readonly #close: () => void;

  constructor(clock: Clock, milliseconds: number, other?: AbortSignal) {
    const controller = new AbortController();
    const follow = () => controller.abort(other?.reason);
    this.#expire = () => {
      this.#expired = !other?.aborted;
      controller.abort(new DOMException(`no answer within ${milliseconds} ms`, 'TimeoutError'));
    };
    const cancel = clock.after(milliseconds, this.#expire);
    if (other?.aborted) follow();
    else other?.addEventListener('abort', follow);
    this.signal = controller.signal;
    this.#clock = clock;
    this.#at = clock.now() + milliseconds;
    this.#close = () => {
      cancel();
      other?.removeEventListener('abort', follow);
    };
  }

  /** Whether the time is up, and the other signal was not aborted before that. */
  get expired(): boolean {
    return this.#expired;
  }

  /**
   * Aborts the signal if the time is up by the wall clock. Timers may not count the time
   * that a machine sleeps or a tab is frozen.
   */
  check(): void {
    if (this.remaining() <= 0) this.#expire();
  }

  /** Returns how many milliseconds remain. */
  remaining(): number {
    return this.#at - this.#clock.now();
  }

  /** Frees the timer and the listener. The signal is not aborted by them any more. */
  close(): void {
    this.#close();
  }
}

/**
 * Returns what a promise returns, or rejects with the reason of a signal that is
 * aborted first.
 */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = () => reject(signal.reason);
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', end));
  });
}
