import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Candidate } from '@agentfleet/protocol/inference';
import type { ActInQuestion, SecondOpinion } from './ports.ts';
import type { GateVerdict, Part } from './gate.ts';
import type { Scope } from './scope.ts';
import { consentTo } from './approvals.ts';

const part: Part = {
  tool: 'Shell',
  subject: 'frobnicate',
  decision: 'Allow',
  risk: 'Reversible',
  allowlisted: false,
  findings: [],
  cure: '',
  structure: {},
  kinds: [],
  where: '',
  commands: [],
};
const candidate = {
  id: 'c',
  rank: 1,
  score: 1,
  edits: [],
  acts: [{ tool: 'Shell', command: 'frobnicate' }],
  operator: 'act',
  rationale: '',
} as unknown as Candidate;
const verdictOf = (parts: Partial<GateVerdict>): GateVerdict => ({
  allowed: true,
  decision: 'Allow',
  risk: 'Reversible',
  snapshotFirst: true,
  why: '',
  cure: '',
  review: [],
  scored: [],
  approval: [],
  ...parts,
});

function scope(allowed: boolean, seen: ActInQuestion[] = [], evidences: string[] = []): Scope {
  const opinion: SecondOpinion = { allowed, why: allowed ? '' : 'Verifier: low', unsafe: null, risk: null, energy: 2, pSuccess: null };
  const secondOpinion = (act: ActInQuestion): Promise<SecondOpinion> => {
    seen.push(act);
    return Promise.resolve(opinion);
  };
  const ask = ({ evidence }: { readonly evidence: string }): Promise<object> => {
    evidences.push(evidence);
    return Promise.resolve({ decision: 'Approved', by: 'by a person' });
  };
  return { context: { decisionModels: { secondOpinion }, task: { metadata: { uid: 'u' } } }, approvals: { ask } } as unknown as Scope;
}

const consent = (of: Scope, verdict: GateVerdict): ReturnType<typeof consentTo> =>
  consentTo(of, candidate, { rewrites: [], acts: [] }, verdict);

it('asks gate 2 about what no allowlist covers, and about nothing that one does', async () => {
  const seen: ActInQuestion[] = [];
  expect(await consent(scope(false, seen), verdictOf({ scored: [part] }))).toMatchObject({
    allowed: false,
    why: expect.stringMatching(/^gate 2: Verifier: low/) as string,
  });
  expect(seen).toMatchObject([{ subject: 'frobnicate', rails: { decision: 'Allow' } }]);
  expect(await consent(scope(true, seen), verdictOf({ scored: [part] }))).toMatchObject({ allowed: true, approved: false });
  expect(await consent(scope(false, seen), verdictOf({}))).toMatchObject({ allowed: true });
  expect(seen).toHaveLength(2);
});

it('asks a person about the whole act', async () => {
  const asked: { readonly action: string; readonly whole?: string }[] = [];
  const of = scope(true);
  Object.assign(of.approvals, {
    ask: (held: { readonly action: string }) => {
      asked.push(held);
      return Promise.resolve({ decision: 'Approved', by: 'by a person' });
    },
  });
  await consent(of, verdictOf({ approval: [part] }));
  expect(asked.map(({ whole = '' }) => `sha256:${createHash('sha256').update(whole).digest('hex')}`)).toEqual(
    asked.map(({ action }) => action),
  );
  expect(JSON.parse(asked[0]?.whole ?? '{}')).toEqual({ task: 'u', edits: [], acts: candidate.acts });
});

it('leaves to a person what no rail objects to and a person looks at anyway, and reports the doubt', async () => {
  const evidences: string[] = [];
  const both = verdictOf({ scored: [part], approval: [part] });
  expect(await consent(scope(false, [], evidences), both)).toMatchObject({ allowed: true, approved: true });
  expect(evidences).toEqual([expect.stringMatching(/^frobnicate: .*; gate 2 would refuse it: Verifier: low; energy 2\.000$/)]);
});
