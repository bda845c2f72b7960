import { createRemoteJWKSet, jwtVerify } from 'jose';

const { JWKS_URL, JWT_ISSUER, JWT_AUDIENCE } = process.env;
const keys = createRemoteJWKSet(new URL(JWKS_URL));

// Returns the caller whose token is in the header, or throws an error with the status of
// the response. The keys are fetched once; every token is verified.
export async function authenticate(authorization) {
  const token = /^Bearer (\S+)$/.exec(authorization ?? '')?.[1];
  if (!token) throw problem(401, 'missing bearer token');
  const { payload } = await jwtVerify(token, keys, {
    issuer: JWT_ISSUER,
    audience: JWT_AUDIENCE,
  }).catch(() => {
    throw problem(401, 'invalid token');
  });
  if (!payload.roles?.includes('system')) throw problem(403, 'only the system credits balances');
  return { subject: payload.sub, scope: `${payload.iss} ${payload.sub}` };
}

export function problem(status, detail) {
  return Object.assign(new Error(detail), { statusCode: status });
}
