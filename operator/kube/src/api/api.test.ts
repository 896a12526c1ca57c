import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSelector } from '../testing/selection.ts';
import { requirementsOf, type LabelSelector } from './selector.ts';
import { loadManifest, loadManifests } from './manifests.ts';
import { keyOf, parseKey, collectionPath, defineResource, objectPath, compareVersions } from './resource.ts';

describe('resource versions', () => {
  it('compare as numbers of any length', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n }), fc.bigInt({ min: 0n }), (a, b) => {
        const order = compareVersions(String(a), String(b));
        expect(Math.sign(order ?? NaN)).toBe(a < b ? -1 : a > b ? 1 : 0);
      }),
    );
    expect(compareVersions('9', '10')).toBeLessThan(0);
    expect(compareVersions('abc', '1')).toBeUndefined();
    expect(compareVersions('01', '1')).toBeUndefined();
  });
});

describe('selectors', () => {
  it.for<[string, LabelSelector]>([
    ['', {}],
    ['a=b, c==d', { matchLabels: { a: 'b', c: 'd' } }],
    [
      'a in (b, c),d notin (e)',
      {
        matchExpressions: [
          { key: 'a', operator: 'In', values: ['b', 'c'] },
          { key: 'd', operator: 'NotIn', values: ['e'] },
        ],
      },
    ],
    [
      'a!=b,c,!d.e/f',
      {
        matchExpressions: [
          { key: 'a', operator: 'NotIn', values: ['b'] },
          { key: 'c', operator: 'Exists' },
          { key: 'd.e/f', operator: 'DoesNotExist' },
        ],
      },
    ],
  ])('%s', ([query, selector]) => {
    expect(parseSelector(query)).toEqual(requirementsOf(selector));
  });

  it('quotes what it cannot read', () => {
    expect(() => parseSelector('a=b,=x')).toThrow(/"=x"/);
  });
});

describe('names and paths', () => {
  it('keys go both ways', () => {
    expect(keyOf({ metadata: { namespace: 'n', name: 'a' } })).toBe('n/a');
    expect(parseKey('n/a')).toEqual({ namespace: 'n', name: 'a' });
    expect(parseKey('a')).toEqual({ name: 'a' });
  });

  it('a namespaced object is not addressed without its namespace', () => {
    const pods = defineResource('v1', 'Pod', 'pods');
    expect(collectionPath(pods)).toBe('/api/v1/pods');
    expect(objectPath(pods, { namespace: 'n', name: 'a' }, 'status')).toBe('/api/v1/namespaces/n/pods/a/status');
    expect(() => objectPath(pods, { name: 'a' })).toThrow(TypeError);
    expect(() => objectPath(pods, { namespace: 'n', name: '' })).toThrow(TypeError);
  });
});

describe('manifests', () => {
  it.for<[string, unknown]>([
    ['0755', 0o755],
    ['0o755', 0o755],
    ['0x1F', 31],
    ['-0b11', -3],
    ['1_000', 1000],
    ['08', 8],
    ['1e3', 1000],
    ['.5', 0.5],
    ['1:20', '1:20'],
    ['yes', true],
    ['Off', false],
    ['n', false],
    ['~', null],
    ['2026-01-01', '2026-01-01'],
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z'],
    ["'0755'", '0755'],
    ['5Gi', '5Gi'],
  ])('have %s as kubectl takes it', ([text, value]) => {
    expect(loadManifest(`a: ${text}\n`)).toEqual({ a: value });
  });

  it('have merge keys and empty documents resolved', () => {
    expect(loadManifests('a: &a { b: 1, c: 2 }\nd: { <<: *a, c: 3 }\n---\n---\ne: 1\n')).toEqual([
      { a: { b: 1, c: 2 }, d: { b: 1, c: 3 } },
      { e: 1 },
    ]);
  });
});
