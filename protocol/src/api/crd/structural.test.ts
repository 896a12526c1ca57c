import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { choice, flag, immutable, integer, optional, struct, text } from '../schema/index.ts';
import { structural, type Node } from './definition.ts';

const asNode = (schema: object): Node => schema as Node;

describe('structural schema', () => {
  it('drops what Kubernetes does not know and keeps what it does', () => {
    const schema = struct('Outer.', {
      name: immutable('spec.name', text('Name.', { max: 5 })),
      size: optional(integer('Size.', 0, 9)),
    });
    expect(structural(asNode(schema))).toEqual({
      description: 'Outer.',
      type: 'object',
      required: ['name'],
      properties: {
        name: {
          description: 'Name.',
          type: 'string',
          maxLength: 5,
          'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'spec.name is immutable; create a new object to change it' }],
        },
        size: { description: 'Size.', type: 'integer', minimum: 0, maximum: 9 },
      },
    });
  });

  it('does not demand fields that have a default', () => {
    const schema = struct('Outer.', { mode: choice('Mode.', ['Fast', 'Safe'], 'Safe'), dry: flag('Dry.', false) });
    expect(structural(asNode(schema))['required']).toBeUndefined();
  });

  it('writes out the default of an object that is always there', () => {
    const inner = struct(
      'Inner.',
      { mode: choice('Mode.', ['Fast', 'Safe'], 'Safe'), size: optional(integer('Size.', 0, 9)) },
      { filled: true },
    );
    const outer = struct('Outer.', { inner, dry: flag('Dry.', false) }, { filled: true });
    expect(structural(asNode(outer))['default']).toEqual({ inner: { mode: 'Safe' }, dry: false });
  });

  it('throws on what has no meaning in a CRD', () => {
    const either = Type.Union([Type.String(), Type.Boolean()]);
    expect(() => structural(asNode(struct('Outer.', { a: Type.Object({}, { if: {} }) })))).toThrow('without meaning in a CRD: if');
    expect(() => structural({ ...asNode(either), oneOf: [] })).toThrow('without meaning in a CRD: oneOf');
  });
});
