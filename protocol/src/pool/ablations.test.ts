import { describe, expect, it } from 'vitest';
import { ablatedBrief, ablationNames, ablations, type PoolBrief } from './index.ts';

const roles = ['Generalist', 'Specialist', 'Draft', 'Planner', 'Embedder', 'Policy'] as const;
const compute = { entropyFastNats: 2.5, margin: 1.5, riskThreshold: 0.6, kBase: 2, kMax: 8, earlyExitMargin: 1.5 };
const brief = {
  experts: roles.map((role) => ({ name: role.toLowerCase(), role })),
  absent: [{ name: 'late', role: 'Planner' }],
  verifier: { name: 'judge' },
  profiles: { default: compute, deep: { ...compute, kBase: 4 } },
  ablations: Object.keys(ablations),
} as unknown as PoolBrief;
const rolesOf = ({ experts, verifier }: PoolBrief): readonly string[] => [
  ...experts.map(({ role }) => role),
  ...(verifier === null ? [] : ['Verifier']),
];

describe('a pool without a part', () => {
  it.for([
    ['HRM', ['Generalist', 'Specialist', 'Draft', 'Embedder', 'Policy', 'Verifier']],
    ['EBM', ['Generalist', 'Specialist', 'Draft', 'Planner', 'Embedder', 'Policy']],
    ['AoE', ['Generalist', 'Planner', 'Verifier']],
    ['Learned', ['Generalist', 'Specialist']],
    ['Backtracking', [...roles, 'Verifier']],
  ] as const)('lacks what %s names', ([name, left]) => {
    expect(rolesOf(ablatedBrief(brief, [name]))).toEqual(left);
  });

  it('misses none that is left out on purpose', () => {
    expect(ablatedBrief(brief, ['HRM']).absent).toEqual([]);
    expect(ablatedBrief(brief, ['EBM']).absent).toEqual(brief.absent);
  });

  it('computes the same for all profiles where K is fixed', () => {
    const { profiles } = ablatedBrief(brief, ['K4']);
    expect(Object.values(profiles)).toEqual([0, 1].map(() => ({ ...compute, entropyFastNats: 0, riskThreshold: 1, kBase: 4, kMax: 4 })));
  });

  it('lacks several parts at once', () => {
    expect(rolesOf(ablatedBrief(brief, ['HRM', 'EBM']))).not.toEqual(expect.arrayContaining(['Planner', 'Verifier']));
  });

  it.for([['nothing is allowed', {}, ['EBM']] as const, ['another one is', { ablations: ['HRM'] }, ['HRM', 'EBM']] as const])(
    'is whole where %s: such a task is refused, not changed in part',
    ([, change, asked]) => {
      const { ablations: _, ...plain } = brief;
      const pool = { ...plain, ...change } as unknown as PoolBrief;
      expect(ablatedBrief(pool, asked)).toBe(pool);
    },
  );
});

it('reads names of an annotation', () => {
  expect(ablationNames(undefined)).toEqual([]);
  expect(ablationNames(' HRM, EBM,')).toEqual(['HRM', 'EBM']);
});
