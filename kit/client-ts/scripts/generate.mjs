// Writes src/api.gen.ts: the types of api/openapi.yaml, and how each operation succeeds.
import { readFile, writeFile } from 'node:fs/promises';
import { parseYaml } from '@redocly/openapi-core';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';

const contract = new URL('../../../api/openapi.yaml', import.meta.url);
const target = new URL('../src/api.gen.ts', import.meta.url);

const { factory, SyntaxKind } = ts;

// An extensible enum accepts every string. Editors still offer the known values.
function extensibleEnum(values) {
  const known = values.map((value) =>
    factory.createLiteralTypeNode(factory.createStringLiteral(value)),
  );
  const other = factory.createIntersectionTypeNode([
    factory.createKeywordTypeNode(SyntaxKind.StringKeyword),
    factory.createTypeLiteralNode([]),
  ]);
  return factory.createUnionTypeNode([...known, other]);
}

const { paths, components } = parseYaml(await readFile(contract, 'utf8'));

/** Returns the schema that a reference leads to. */
const follow = (schema) =>
  schema?.$ref ? follow(components.schemas[schema.$ref.split('/').pop()]) : schema;

// The first required member: later versions add required members, which an older service
// leaves out.
function successOf({ responses }) {
  const statuses = Object.keys(responses).filter((status) => status.startsWith('2'));
  const [[media, { schema }] = ['', {}]] = Object.entries(responses[statuses[0]].content ?? {});
  const { required: [member] = [], properties } = follow(schema) ?? {};
  const shape = member && { member, type: follow(properties[member]).type };
  return { statuses: statuses.map(Number), media, ...shape };
}

const successes = Object.entries(paths).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([, operation]) => operation.responses)
    .map(
      ([method, operation]) => `  '${method} ${path}': ${JSON.stringify(successOf(operation))},`,
    ),
);

const nodes = await openapiTS(contract, {
  alphabetize: true,
  transform: (schema) => schema['x-extensible-enum'] && extensibleEnum(schema['x-extensible-enum']),
});
await writeFile(
  target,
  `// Generated from api/openapi.yaml by openapi-typescript. Do not edit.\n\n${astToString(nodes)}
/** How an operation succeeds: the statuses, the media type, and a member of the JSON body. */
export interface Success {
  statuses: number[];
  media: string;
  member?: string;
  type?: string;
}

/** The successes of the operations, by method and path. */
export const successes: Record<string, Success> = {
${successes.join('\n')}
};
`,
);
