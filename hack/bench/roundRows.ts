import type { Ranked } from '../../agent-image/src/attempt/ports.ts';
import type { ControlStep } from '@agentfleet/protocol/inference';
import type { BenchFleet } from './fleet.ts';
import { latencies, latencyRows, type Row } from './report/table.ts';
import type { Repair } from './repairs.ts';

const rounds = 150;
/** Of what takes tenths of a second. */
const slowRounds = 30;
const compared = 8;
const perBug = 4;
const nothing = { candidates: [], context: undefined };
const step: ControlStep = {
  tool: 'Editor',
  result: 'Equal',
  expert: 0,
  edits: 1,
  testsFailing: 1,
  testsTotal: 9,
  testsFixed: 0,
  depth: 0,
  seconds: 0.3,
  budgetUsed: 0.1,
};
const act = {
  head: 'Shell',
  tool: 'Shell',
  subject: 'make install',
  operator: 'make',
  rails: { decision: 'Review', risk: 'Unknown', findings: [] },
  features: {},
} as const;

/** Measures what all learned parts together add to a worker's work: to a round of proposals, to a tried one, to an act in question. */
export async function roundRows(fleet: BenchFleet, repairs: readonly Repair[]): Promise<readonly Row[]> {
  const decisionModels = fleet.decisionModels();
  let best: Ranked | undefined;
  const compare = async (at: number): Promise<void> => {
    await decisionModels.control(Array.from({ length: Math.min(at, 64) }, () => step));
    // A worker stays with a bug for some rounds, and what fails is embedded in the first of them.
    const { candidates, context } = repairs[Math.floor(at / perBug) % repairs.length] ?? nothing;
    if (context === undefined) throw new Error('no held-out bug');
    const from = (at % perBug) * compared;
    [best] = (await decisionModels.rank(candidates.slice(from, from + compared), context)).ranked;
  };
  const round = await latencies(slowRounds, compare, 3);
  const tried = best;
  if (tried === undefined) throw new Error('nothing was ranked');
  const score = await latencies(rounds, () => decisionModels.score(tried, { testsFixed: 1, testsTotal: 9, testsFailed: 0 }));
  const opinion = await latencies(rounds, () => decisionModels.secondOpinion(act));
  if (decisionModels.participants.length < 4) throw new Error(`not all parts answered: ${decisionModels.degraded.join('; ')}`);
  return [
    ...latencyRows({
      measure: `a round of ${compared} proposals in the worker`,
      ours: round,
      note: 'control vector, embeddings and energies; without the learned parts it takes no time',
    }),
    ...latencyRows({ measure: 'energy of a proposal that was tried', ours: score }),
    ...latencyRows({ measure: 'second opinion about an act', ours: opinion, note: 'policy and energy' }),
  ];
}
