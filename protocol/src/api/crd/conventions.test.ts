import { describe, expect, it } from 'vitest';
import { kinds } from '../validators.ts';
import { conventionBreaches, structural, type Node } from './definition.ts';

describe('conventions of the API', () => {
  const parts = kinds.flatMap((kind) => (['spec', 'status'] as const).map((part) => [`${kind.kind}.${part}`, kind[part], part] as const));
  it.for(parts.filter(([, schema]) => schema !== undefined))('are kept by %s', ([, schema, part]) => {
    expect(conventionBreaches(structural(schema as unknown as Node), part)).toEqual([]);
  });

  const description = 'A field.';
  const planted: readonly (readonly [string, Node])[] = [
    ['has no description', { type: 'boolean' }],
    ['is a float', { type: 'number', description }],
    ['is a string without maxLength', { type: 'string', description }],
    ['is a quantity without maxLength', { 'x-kubernetes-int-or-string': true, description }],
    ['is a list without maxItems', { type: 'array', description, 'x-kubernetes-list-type': 'set' }],
    ['is a list without x-kubernetes-list-type', { type: 'array', description, maxItems: 1 }],
    ['is a map without maxProperties', { type: 'object', description, additionalProperties: { type: 'boolean', description } }],
    ['is an integer without bounds', { type: 'integer', minimum: 0, description }],
    ['is an object of unknown shape', { type: 'object', description }],
    ['takes more than it says', { type: 'object', properties: {}, description, 'x-kubernetes-preserve-unknown-fields': true }],
    ['has the boolean-like value Off', { type: 'string', maxLength: 9, description, enum: ['Auto', 'Off'] }],
    ['has the value fast-path, which is not CamelCase', { type: 'string', maxLength: 9, description, enum: ['fast-path'] }],
  ];
  it.for(planted)('find that a field %s', ([breach, node]) => {
    const schema = {
      type: 'object',
      description,
      properties: { list: { ...list, items: { type: 'object', description, properties: { field: node } } } },
    };
    expect(conventionBreaches(schema, 'spec')).toEqual([`spec.list[].field ${breach}`]);
  });
  const list = { type: 'array', description, maxItems: 1, 'x-kubernetes-list-type': 'atomic' };

  it.for([
    ['on', 'has a boolean-like name'],
    ['y', 'has a boolean-like name'],
    ['timeout', 'is a duration whose name does not say its unit'],
  ] as const)('find the bad name %s', ([name, breach]) => {
    const field = { type: 'integer', minimum: 0, maximum: 1, description };
    expect(conventionBreaches({ type: 'object', description, properties: { [name]: field } }, 'spec')).toEqual([`spec.${name} ${breach}`]);
  });

  it('are kept by the words of all rules', () => {
    const rules = kinds.flatMap((kind) => [...kind.rules, ...allRules(kind.spec as Node)]);
    expect(rules.filter(({ message }) => !/^(spec|metadata)\b.*(must|may|cannot|immutable|needs)/.test(message))).toEqual([]);
    expect(rules.filter(({ message }) => message.length > 400 || message.includes('\n'))).toEqual([]);
  });
});

interface Worded {
  readonly message: string;
}

function allRules(node: Node): readonly Worded[] {
  const below = [
    ...Object.values((node['properties'] ?? {}) as Record<string, Node>),
    ...(node['items'] === undefined ? [] : [node['items'] as Node]),
  ];
  return [...((node['x-kubernetes-validations'] ?? []) as readonly Worded[]), ...below.flatMap(allRules)];
}
