import { describe, expect, test } from 'vitest';
import { ablations, full, profileVariants, variantsOf } from './index.ts';

describe('variantsOf', () => {
  test('gives the whole fleet first, then one variant for each name, none twice', () => {
    expect(variantsOf(['EBM', 'K4', 'EBM']).map(({ name }) => name)).toEqual(['full', '-EBM', 'K4']);
  });

  test('makes no variant that is the whole fleet by another name', () => {
    const same = variantsOf(ablations).map(({ ablations: asked, snapshots, parts }) => JSON.stringify([asked, snapshots, parts]));
    expect(new Set(same).size).toBe(ablations.length + 1);
  });

  test('leaves out the parts that an ablation names, so that their servers need not run', () => {
    const [, hrm, learned, snapshot] = variantsOf(['HRM', 'Learned', 'Snapshot']);
    expect(hrm?.parts).toEqual(['Verifier', 'Embedder', 'Policy']);
    expect(learned?.parts).toEqual([]);
    expect(snapshot).toMatchObject({ parts: full.parts, ablations: [], snapshots: 'InitialOnly' });
  });

  test.each([
    ['Memory', /Memory cannot be ablated: .* a store of past attempts and its recall are missing/],
    ['FreeForm', /a free-form decoder with its repair loop is missing/],
    ['SpecDecode', /a speculative decoder is missing/],
    ['Rails', /there is no ablation Rails; choose of HRM, .*Backtracking, Snapshot/],
    ['toString', /there is no ablation toString/],
  ])('refuses %s and says what is missing', (name, message) => {
    expect(() => variantsOf([name])).toThrow(message);
  });
});

test('profiles of a cluster are variants that leave nothing out', () => {
  expect(profileVariants(['deep'])).toEqual([{ ...full, name: 'deep', change: 'profile deep', profile: 'deep' }]);
});
