// Writes src/api.gen.ts, the types of api/openapi.yaml.
import { writeFile } from 'node:fs/promises';
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

const nodes = await openapiTS(contract, {
  alphabetize: true,
  transform: (schema) => schema['x-extensible-enum'] && extensibleEnum(schema['x-extensible-enum']),
});
await writeFile(
  target,
  `// Generated from api/openapi.yaml by openapi-typescript. Do not edit.\n\n${astToString(nodes)}`,
);
