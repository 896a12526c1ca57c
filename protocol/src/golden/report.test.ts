import { describe, expect, it } from 'vitest';
import { goldenReportOf, mostReportBytes } from './index.ts';

describe('what a golden set reports at its end', () => {
  it('is counted, with the heads of a verifier', () => {
    expect(goldenReportOf('{"passed":49,"total":50}\n')).toEqual({ passed: 49, total: 50 });
    const heads = [{ name: 'Code', auc: 0.9, ece: 0.02, samples: 50 }];
    expect(goldenReportOf(JSON.stringify({ passed: 0, total: 1, heads, more: 1 }))).toEqual({ passed: 0, total: 1, heads });
  });

  it.each([
    ['nothing', undefined, 'it said nothing'],
    ['blanks', ' \n', 'it said nothing'],
    ['words', 'all good', 'object'],
    ['more passed than tried', '{"passed":51,"total":50}', '51 passed of 50'],
    ['a negative count', '{"passed":-1,"total":50}', '/passed'],
    ['half a case', '{"passed":1.5,"total":50}', '/passed'],
    ['no case', '{"passed":0,"total":0}', '/total'],
    ['what is no number', '{"passed":NaN,"total":50}', 'object'],
    ['too large a number', '{"passed":1,"total":1e999}', '/total'],
    ['counts as text', '{"passed":"1","total":50}', '/passed'],
    ['half an object', '{"passed":1,"tot', 'object'],
    ['a share above one', '{"passed":1,"total":2,"heads":[{"name":"Code","auc":2,"ece":0,"samples":1}]}', '/heads/0/auc'],
    ['what is cut off', `{"passed":1,"total":2,"more":"${'x'.repeat(mostReportBytes)}"}`, 'cut off'],
  ])('is no result for %s', (_, message, words) => {
    expect(goldenReportOf(message)).toEqual({ fault: expect.stringContaining(words) as string });
  });
});
