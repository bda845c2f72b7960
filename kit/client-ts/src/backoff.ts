/** How long to wait between attempts, in milliseconds. */
export interface Backoff {
  /** The longest wait before the first retry. It doubles with each further one. */
  base: number;
  /** The longest wait before any retry. */
  cap: number;
}

/**
 * Returns a random wait before a retry, with full jitter: clients that failed together
 * do not retry together.
 *
 * @param retries - How many retries came before.
 * @param random - A random number from 0 to 1.
 */
export function jitter({ base, cap }: Backoff, retries: number, random: () => number): number {
  return random() * Math.min(cap, base * 2 ** retries);
}

/** The forms of a date in HTTP. Only the last one ends without its time zone, which is GMT. */
const date = /^[A-Z][a-z]+,? [\w -]+ \d\d:\d\d:\d\d( GMT| \d{4})$/;

/**
 * Parses a Retry-After header (RFC 9110): seconds, or a date.
 *
 * @param now - The time in milliseconds since 1970.
 * @returns the milliseconds to wait: 0 if there is no header, or none that can be read.
 */
export function retryAfter(header: string | null, now: number): number {
  if (header === null) return 0;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const zone = header.endsWith(' GMT') ? '' : ' GMT';
  const until = date.test(header) ? Date.parse(header + zone) : NaN;
  return Math.max(0, (until || now) - now);
}
