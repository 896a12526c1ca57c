// hack, eval: steps of npm run eval and eval:full. May import any package.

/** The steps of `npm run eval` and `npm run eval:full`: commands of `fleet`, so that each can be run alone. */
export interface EvalStep {
  /** Name of its folder in eval-results/, and of its numbers in hack/eval/measured/. */
  readonly name: string;
  readonly kind: 'run' | 'judge' | 'verify' | 'scenarios';
  readonly argv: readonly string[];
  /** Table in docs/benchmarks.md; several steps may share one. Absent: only its exit status counts. */
  readonly table?: string;
}

const packs = ['repair', 'code-small', 'trap', 'contracts', 'os', 'mini-swe', 'acceptance'] as const;

const repairs = (...more: readonly string[]): readonly string[] => ['eval', 'run', 'repair', '--split', 'dev', '--only', '/py-', ...more];

const shared: readonly EvalStep[] = [
  { name: 'scenarios', kind: 'scenarios', argv: ['eval', 'scenarios', 'acceptance'], table: 'scenarios' },
  { name: 'hazard', kind: 'judge', argv: ['eval', 'judge', 'hazard', '--ablate', 'EBM,Learned'], table: 'hazard' },
  { name: 'injection', kind: 'judge', argv: ['eval', 'judge', 'injection', '--ablate', 'EBM,Learned'], table: 'injection' },
  { name: 'repair-ci', kind: 'run', argv: repairs('--sample', '4', '--ablate', 'EBM', '--tool-calls', '150'), table: 'repair-ci' },
];

const sampled = (pack: string, sample: number): EvalStep => ({
  name: `sample-${pack}`,
  kind: 'verify',
  argv: ['eval', 'verify', pack, '--sample', String(sample)],
});

/** Enough to see that all of it works: less than four minutes on two cores. */
const quick: readonly EvalStep[] = [sampled('repair', 9), ...packs.slice(1).map((pack) => sampled(pack, 2)), ...shared];

/** With Synth as the only expert; a sample of `os`, because Synth does not know the languages of those tasks. */
const attempted = (pack: string): EvalStep => {
  const sample = pack === 'os' ? ['--sample', '40'] : [];
  return { name: pack, kind: 'run', argv: ['eval', 'run', pack, ...sample, '--tool-calls', '150'], table: 'packs' };
};

/** 64 tasks of four packs, each attempted four times: 192 repetitions, of which none may flake for the upper bound to be within 2 %. */
const repeated = 'eval run repair trap contracts mini-swe --split dev --sample 16 --rounds 4 --tool-calls 20'.split(' ');

/** The whole dev half: 87 pairs for each ablation, which show a difference of ten points at best. */
const compared = 'eval run repair --split dev --matrix --tool-calls 40'.split(' ');

const full: readonly EvalStep[] = [
  ...packs.map((pack): EvalStep => ({ name: `verify-${pack}`, kind: 'verify', argv: ['eval', 'verify', pack], table: 'verify' })),
  ...shared,
  ...packs.slice(1).map(attempted),
  { name: 'flakes', kind: 'run', argv: repeated, table: 'flakes' },
  { name: 'matrix', kind: 'run', argv: compared, table: 'matrix' },
];

/** The steps, in order. */
export const stepsOf = (all: boolean): readonly EvalStep[] => (all ? full : quick);
