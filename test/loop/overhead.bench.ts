// Time that the fleet adds to a candidate: the same task by the same search with and without the learned parts, on servers of
// this machine. node hack/bootstrap.mjs test/loop/overhead.bench.ts
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { ExpertsClient } from '@agentfleet/agent/experts';
import { FleetMind } from '@agentfleet/agent/mind';
import { silentLog, systemClock } from '@agentfleet/kube';
import { candidate } from '../../agent-image/src/mind/testing/candidates.ts';
import { compute, LoopBed } from './loopBed.ts';

const rounds = 200;
const bed = await LoopBed.open();
const domains = ['*'];
const served = async (role: 'Planner' | 'Verifier' | 'Embedder' | 'Policy'): Promise<string> =>
  bed.serve({ AGENTFLEET_ENGINE: 'Builtin', AGENTFLEET_ROLES: role });
const builtin = async (name: string, role: 'Planner' | 'Embedder' | 'Policy'): Promise<PoolBrief['experts'][number]> => ({
  name,
  role,
  engine: 'Builtin',
  domains,
  url: await served(role),
});
const generalist = { name: 'gen', role: 'Generalist', engine: 'Synth', domains, url: 'http://127.0.0.1:1' } as const;
const pool: Pick<PoolBrief, 'experts' | 'verifier'> = {
  experts: [generalist, await builtin('hrm', 'Planner'), await builtin('tpc', 'Policy'), await builtin('embed', 'Embedder')],
  verifier: {
    name: 'ebm',
    url: await served('Verifier'),
    batchMax: 8,
    timeoutMillis: 2000,
    vetoBelowProbability: 0.15,
    warnBelowProbability: 0.35,
    whenUnavailable: 'FailClosed',
  },
};
const parts = new ExpertsClient({ clock: systemClock, random: () => 0.5, log: silentLog }).parts;
const mind = new FleetMind({ pool, compute, parts, name: 'bench.1.1', signal: new AbortController().signal });
const act = {
  head: 'Shell',
  tool: 'Shell',
  subject: 'make install',
  operator: 'make',
  rails: { decision: 'Review', risk: 'Unknown', findings: [] },
  features: {},
} as const;

const taken: Record<string, number[]> = { control: [], 'rank 8': [], score: [], 'second opinion': [] };
async function timed<T>(what: string, call: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const result = await call();
  taken[what]?.push(performance.now() - began);
  return result;
}

const step = {
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
} as const;
for (let at = 0; at < rounds; at += 1) {
  const steps = Array.from({ length: Math.min(at, 64) }, () => step);
  await timed('control', () => mind.control(steps));
  const candidates = Array.from({ length: 8 }, (_, rank) => candidate(`c${at}-${rank}`, { rank: rank + 1, score: 0.1 }));
  const context = {
    files: [{ path: 'f.py', content: 'old\nnext\n' }],
    failing: [{ id: 'test_f', message: 'AssertionError: 3 != 5' }],
    suspicion: () => 0.7,
    trialSeconds: null,
  };
  const { ranked } = await timed('rank 8', () => mind.rank(candidates, context));
  const [best] = ranked;
  if (best !== undefined) await timed('score', () => mind.score(best, { testsFixed: 1, testsTotal: 9, testsFailed: 0 }));
  await timed('second opinion', () => mind.secondOpinion(act));
}
const at = (values: readonly number[], share: number): string =>
  (values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN).toFixed(2);
for (const [what, values] of Object.entries(taken))
  console.log(`${what}: p50 ${at(values, 0.5)} ms, p95 ${at(values, 0.95)} ms (${values.length})`);
console.log(`degraded: ${mind.degraded.join('; ') || 'none'}; took part: ${mind.participants.map(({ role }) => role).join(', ')}`);
await bed[Symbol.asyncDispose]();
