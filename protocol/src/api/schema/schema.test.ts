import { describe, expect, it } from 'vitest';
import {
  byteQuantity,
  decimal,
  escalating,
  choice,
  guarded,
  immutable,
  integer,
  mutabilityOf,
  optional,
  probability,
  rulesOf,
  struct,
  text,
  union,
  upward,
} from './index.ts';

const matches = (schema: object, value: string): boolean => new RegExp((schema as { pattern: string }).pattern, 'u').test(value);

describe('union', () => {
  const schema = union('A place.', 'spec.place', {
    Git: struct('Git.', { url: text('URL.', { max: 9 }) }),
    ConfigMap: struct('Map.', {}),
    Empty: null,
  });

  it('has one rule for each member, which names the member', () => {
    expect(rulesOf(schema).map(({ rule }) => rule)).toEqual([
      "self.type == 'Git' ? has(self.git) : !has(self.git)",
      "self.type == 'ConfigMap' ? has(self.configMap) : !has(self.configMap)",
    ]);
  });

  it('gives each type its member and no other to the compiler', () => {
    type Place = (typeof schema)['~unsafe'];
    const git: Place = { type: 'Git', git: { url: 'u' } };
    // @ts-expect-error the member of another type
    const mixed: Place = { type: 'Empty', git: { url: 'u' } };
    expect([git.type, mixed.type]).toEqual(['Git', 'Empty']);
  });
});

describe('marks of change', () => {
  const fields = {
    name: optional(immutable('spec.name', text('Name.', { max: 9 }))),
    size: optional(upward('spec.size', integer('Size.', 0, 9))),
    free: optional(integer('Free.', 0, 9)),
    fixed: immutable('spec.fixed', text('Fixed.', { max: 9 })),
  };

  it('guard optional fields from outside, where a rule of their own would not run', () => {
    expect(rulesOf(guarded('Spec.', 'spec', fields)).map(({ rule }) => rule)).toEqual([
      'has(self.name) == has(oldSelf.name)',
      '!has(self.size) || has(oldSelf.size)',
    ]);
  });

  it('outlive being made optional, and leave the original alone', () => {
    const plain = text('Name.', { max: 9 });
    expect(mutabilityOf(optional(immutable('spec.name', plain)))).toBe('Immutable');
    expect(mutabilityOf(plain)).toBeUndefined();
    expect(rulesOf(plain)).toEqual([]);
  });

  it('rank the values of an escalating choice by their order', () => {
    const [rule] = rulesOf(escalating('spec.stop', ['None', 'Soft', 'Hard'], choice('Stop.', ['None', 'Soft', 'Hard'])));
    expect(rule?.rule).toBe("{'None': 0, 'Soft': 1, 'Hard': 2}[self] >= {'None': 0, 'Soft': 1, 'Hard': 2}[oldSelf]");
  });
});

describe('patterns', () => {
  it.for(['0', '-1.25', '12.000000001', '999999999'])('take %s as a decimal', (value) => {
    expect(matches(decimal('D.'), value)).toBe(true);
  });
  it.for(['', '01', '.5', '1.', '1e3', '+1', ' 1', 'NaN', '1,5'])('refuse "%s" as a decimal', (value) => {
    expect(matches(decimal('D.'), value)).toBe(false);
  });
  it.for(['0', '1', '0.15', '1.0'])('take %s as a probability', (value) => {
    expect(matches(probability('P.'), value)).toBe(true);
  });
  it.for(['1.1', '-0.1', '2', '0.', '.5'])('refuse "%s" as a probability', (value) => {
    expect(matches(probability('P.'), value)).toBe(false);
  });
  it.for(['2Gi', '1048576', '1.5Ti'])('take %s as an amount of bytes', (value) => {
    expect(matches(byteQuantity('B.', 'spec.b'), value)).toBe(true);
  });
  it.for(['2GB', '-1Gi', '1e9', 'Gi', '2 Gi'])('refuse "%s" as an amount of bytes', (value) => {
    expect(matches(byteQuantity('B.', 'spec.b'), value)).toBe(false);
  });
});
