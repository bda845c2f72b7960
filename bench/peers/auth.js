import { createRemoteJWKSet, jwtVerify } from 'jose';
import { problem } from './problem.js';

const { JWKS_URL, JWT_ISSUER: issuer, JWT_AUDIENCE: audience } = process.env;
const keys = createRemoteJWKSet(new URL(JWKS_URL));

// Returns the caller whose token is in the header. The keys are fetched once; every token
// is verified.
export async function authenticate(authorization, role) {
  const token = /^Bearer (\S+)$/.exec(authorization ?? '')?.[1];
  if (!token) throw problem(401, 'missing bearer token');
  const { payload } = await jwtVerify(token, keys, { issuer, audience }).catch(() => {
    throw problem(401, 'invalid token');
  });
  if (!payload.roles?.includes(role)) throw problem(403, `the role ${role} is required`);
  return { subject: payload.sub, scope: `${payload.iss} ${payload.sub}` };
}
