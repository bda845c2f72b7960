/** What varies between two requests of an operation. */
export interface RequestInput {
  path?: Readonly<Record<string, string | number>>;
  query?: object | undefined;
  body?: unknown;
}

/**
 * Returns the URL of a request.
 *
 * @param template - A path of the contract, such as `/orders/{order_id}`.
 * @throws RangeError if an ID is a number that the service has no resource for.
 */
export function urlOf(
  base: string,
  template: string,
  { path = {}, query = {} }: RequestInput,
): string {
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => segment(name, path[name]));
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  const search = parameters.toString();
  return base + filled + (search && `?${search}`);
}

function segment(name: string, value: string | number | undefined): string {
  const valid = typeof value === 'number' ? Number.isSafeInteger(value) && value > 0 : value;
  if (!valid) throw new RangeError(`${name} is ${value}, want an ID`);
  return encodeURIComponent(value as string | number);
}
