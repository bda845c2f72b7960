// Returns an error with the status of the response.
export function problem(status, detail) {
  return Object.assign(new Error(detail), { statusCode: status });
}
