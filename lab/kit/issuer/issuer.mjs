// Serves oidc-provider on a port. The first key of keys/ signs; all of them are published.
// node issuer.mjs PORT FOLDER KEY …
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";

const [port, folder, ...names] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;

async function key(kid) {
	const file = `${folder}/${kid}.json`;
	if (!existsSync(file)) {
		const { privateKey } = await generateKeyPair("RS256", { extractable: true });
		writeFileSync(file, JSON.stringify({ ...(await exportJWK(privateKey)), kid, use: "sig" }));
	}
	return JSON.parse(readFileSync(file, "utf8"));
}

const provider = new Provider(issuer, {
	clients: [{
		client_id: "web", client_secret: "web-secret", grant_types: ["client_credentials"], response_types: [], redirect_uris: [],
	}],
	jwks: { keys: await Promise.all(names.map(key)) },
	scopes: ["shop:customer"],
	features: {
		clientCredentials: { enabled: true },
		devInteractions: { enabled: false },
		resourceIndicators: {
			enabled: true,
			getResourceServerInfo: (_, resource) => ({
				audience: resource, scope: "shop:customer", accessTokenFormat: "jwt", jwt: { sign: { alg: "RS256" } },
			}),
		},
	},
});
provider.listen(Number(port), "127.0.0.1");
