import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { artifactFaults, SchemaError, within } from './artifact.ts';

const path = 'out/report.json';
const schema = JSON.stringify({
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  required: ['total'],
  properties: { total: { type: 'integer', minimum: 1 }, name: { type: 'string' } },
});

describe('an artifact', () => {
  test.each<readonly [string, Omit<Parameters<typeof artifactFaults>[0], 'path'>, string | null, readonly RegExp[]]>([
    ['that is there holds', {}, '', []],
    ['that is missing', {}, null, [/is not there/]],
    ['that is too small', { minBytes: 4 }, 'abc', [/has 3 bytes, and at least 4/]],
    ['at its bounds holds', { minBytes: 3 }, 'abc', []],
    ['is measured in bytes', { minBytes: 5 }, 'äö', [/has 4 bytes/]],
    ['has to contain all texts', { contains: ['Grüße', 'end', 'more'] }, 'Grüße\nend', [/does not contain "more"/]],
    ['that fulfils its schema holds', { jsonSchema: schema }, '{"total": 2, "name": "x"}', []],
    ['that does not', { jsonSchema: schema }, '{"total": 0}', [/^out\/report\.json: \/total must be >= 1/]],
    ['that lacks something', { jsonSchema: schema }, '{}', [/the document must have required property 'total'/]],
    ['that is no JSON', { jsonSchema: schema }, '{"total": 1', [/is no JSON/]],
    ['tells all that is wrong', { minBytes: 99, contains: ['x'] }, 'abc', [/at least 99/, /does not contain "x"/]],
  ])('%s', (_, check, content, faults) => {
    const found = artifactFaults({ path, ...check }, content === null ? null : Buffer.from(content));
    expect(found).toHaveLength(faults.length);
    for (const [at, fault] of faults.entries()) expect(found[at]).toMatch(fault);
  });

  test.each([
    ['no JSON', '{', /no JSON/],
    ['no object', '[]', /no JSON object/],
    ['an unknown type', '{"type": "thing"}', /type/],
    ['a reference to nowhere', '{"$ref": "https://example.com/other.json"}', /can't resolve reference/],
    ['asynchronous', '{"$async": true, "type": "object", "required": ["total"]}', /asynchronous/],
    ['asynchronous by another word', '{"$async": "no", "type": "object"}', /asynchronous/],
    ['asynchronous below', '{"properties": {"a": {"$async": true, "type": "array"}}}', /async schema in sync schema/],
    ['asynchronous where it refers to', '{"$ref": "#/$defs/a", "$defs": {"a": {"$async": true, "type": "array"}}}', /async schema/],
  ])('with a schema that is %s cannot be judged, be it there or not', (_, jsonSchema, why) => {
    expect(() => artifactFaults({ path, jsonSchema }, null)).toThrow(SchemaError);
    expect(() => artifactFaults({ path, jsonSchema }, Buffer.from('{}'))).toThrow(why);
  });

  test('with a schema that never ends is cut off', () => {
    const jsonSchema = JSON.stringify({ type: 'string', pattern: '^(a+)+$' });
    expect(() => artifactFaults({ path, jsonSchema }, Buffer.from(JSON.stringify(`${'a'.repeat(40)}!`)))).toThrow(
      /takes more than 1000 ms/,
    );
  });

  test('with a schema that waits for a processor is judged', () => {
    // A child that waits takes the wall's time and none of this thread's.
    expect(within(() => execFileSync('sleep', ['1.2']).length)).toBe(0);
  });
});
