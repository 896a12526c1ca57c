/** What `npm run eval` and `npm run eval:full` run: commands of `fleet`, so that anybody can run one of them alone. */
export interface EvalStep {
  /** Of its folder and of its table in docs/benchmarks.md. */
  readonly name: string;
  readonly kind: 'run' | 'judge' | 'verify';
  readonly argv: readonly string[];
}

/** Enough for CI: less than four minutes on two cores. */
const quick: readonly EvalStep[] = [
  { name: 'verify', kind: 'verify', argv: ['eval', 'verify', 'repair', '--sample', '9'] },
  { name: 'hazard', kind: 'judge', argv: ['eval', 'judge', 'hazard', '--ablate', 'EBM,Learned'] },
  { name: 'injection', kind: 'judge', argv: ['eval', 'judge', 'injection', '--ablate', 'EBM,Learned'] },
  {
    name: 'repair-ci',
    kind: 'run',
    argv: ['eval', 'run', 'repair', '--split', 'dev', '--only', '/py-', '--sample', '4', '--ablate', 'EBM', '--tool-calls', '150'],
  },
];

const full: readonly EvalStep[] = [
  { name: 'verify', kind: 'verify', argv: ['eval', 'verify', 'repair'] },
  ...quick.filter(({ kind }) => kind === 'judge'),
  {
    name: 'repair-dev',
    kind: 'run',
    argv: ['eval', 'run', 'repair', '--split', 'dev', '--only', '/py-', '--sample', '12', '--ablate', 'EBM', '--tool-calls', '150'],
  },
  {
    name: 'flakes',
    kind: 'run',
    argv: ['eval', 'run', 'repair', '--split', 'dev', '--only', '/py-', '--sample', '6', '--rounds', '2', '--tool-calls', '60'],
  },
  {
    name: 'matrix',
    kind: 'run',
    argv: ['eval', 'run', 'repair', '--split', 'dev', '--sample', '40', '--matrix'],
  },
];

/** The steps, in order. */
export const stepsOf = (all: boolean): readonly EvalStep[] => (all ? full : quick);
