import * as fc from 'fast-check';
import picomatch from 'picomatch';
import { describe, expect, it } from 'vitest';
import { globMatcher } from './protected.ts';

const part = fc.constantFrom('a', 'b', '.c', 'ab', 'x.y', '*', '?', '*a', 'b*', '*.*', '**', '[ab]', '[!a]*', '{a,*b}', '+(a|b)', '*(x)');
const glob = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join('/'));
const path = fc
  .array(fc.constantFrom('a', 'b', '.c', 'ab', 'ba', 'x.y', 'aab', 'x'), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.join('/'));

describe('globMatcher', () => {
  it('matches as picomatch does, with any number of wildcards', () => {
    fc.assert(
      fc.property(glob, path, (one, to) => {
        expect(globMatcher([one])(to), `${one} ${to}`).toBe(picomatch(one, { dot: true })(to));
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    ['*a*a*a*a*a*a*a*a*a*b', 'a'.repeat(255)],
    ['**/a/**/a/**/a/**/a/**/b', `${'a/'.repeat(2000)}a`],
    [`${'*a'.repeat(250)}b`, 'a'.repeat(255)],
    ['+(a|aa)b', 'a'.repeat(255)],
    ['*(+(a)|*(a))b', 'a'.repeat(255)],
    ['+(a|aa)+(a|aa)+(a|aa)b', 'a'.repeat(255)],
    ['{*a,*aa}{*a,*aa}{*a,*aa}{*a,*aa}b', 'a'.repeat(255)],
  ])('ends on %s', (one, to) => {
    expect(globMatcher([one])(to)).toBe(false);
    expect(globMatcher([one, 'a*'])('ab')).toBe(true);
  });

  it('takes a group that excludes as text among many wildcards', () => {
    expect(globMatcher(['!(x)*y*z*'])('ayz')).toBe(false);
    expect(globMatcher(['!(x)*y'])('ay')).toBe(true);
  });
});
