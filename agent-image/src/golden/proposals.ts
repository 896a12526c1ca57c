import { silentLog } from '@agentfleet/kube';
import { generateBounds, type Candidate, type GenerateRequest } from '@agentfleet/protocol/inference';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { rewritesOf } from '../features/index.ts';
import { AttemptFailure } from '../base/failure.ts';
import { ExpertsClient } from '../experts/index.ts';
import type { AskOptions, Verdict } from './acts.ts';
import { GoldenFault, type ProposalCase } from './cases.ts';

/** Roles that propose, as requests name them. */
const roleOf: Partial<Readonly<Record<ExpertEndpoint['role'], GenerateRequest['role']>>> = {
  Generalist: 'Generalist',
  Specialist: 'Specialist',
  Draft: 'Draft',
};

const defaultWithin = 5;

/**
 * Requests proposals from experts and checks whether one of the first produces the expected content. Texts are
 * compared; nothing is run. Rejects when an expert cannot be reached.
 */
export async function judgeProposals(
  experts: readonly ExpertEndpoint[],
  cases: readonly ProposalCase[],
  { seed, ...options }: AskOptions & { readonly seed: number },
): Promise<readonly Verdict[]> {
  const client = new ExpertsClient({ ...options, log: silentLog }).of(experts);
  const verdicts: Verdict[] = [];
  for (const one of cases) {
    const { expert, role } = asked(experts, one);
    const request: GenerateRequest = { ...requestOf(one, role), seed };
    verdicts.push(await verdictOf(one, () => client.generate(expert, request, options.signal)));
  }
  return verdicts;
}

function asked(experts: readonly ExpertEndpoint[], { id, expert: name }: ProposalCase) {
  const found = name === undefined ? experts.find(({ role }) => roleOf[role] !== undefined) : experts.find((one) => one.name === name);
  const role = found === undefined ? undefined : roleOf[found.role];
  if (found === undefined || role === undefined)
    throw new GoldenFault(`case ${id}: the revision has no expert ${name ?? ''} that proposes; correct expert of the case`);
  return { expert: found, role };
}

function requestOf({ id, propose, within = defaultWithin }: ProposalCase, role: GenerateRequest['role']): GenerateRequest {
  const { goal, files, localisation = { spectrum: { passed: 0, failed: 0, lines: [] }, failingTests: [] } } = propose;
  const { maxEdits = 1, budgetMillis = generateBounds.defaultBudgetMillis } = propose;
  return {
    requestId: `golden-${id}`,
    role,
    goal,
    step: 0,
    grammar: 'Edit',
    files,
    localisation,
    k: within,
    maxEdits,
    exclude: [],
    seed: 0,
    budgetMillis,
  };
}

async function verdictOf(one: ProposalCase, generate: () => Promise<{ readonly candidates: readonly Candidate[] }>): Promise<Verdict> {
  const { id, within = defaultWithin } = one;
  try {
    const { candidates } = await generate();
    const first = candidates.slice(0, within);
    for (const candidate of first)
      if (await meets(one, candidate)) return { id, passed: true, why: `proposal ${candidate.rank} of ${first.length}` };
    return { id, passed: false, why: `none of ${first.length} proposals does what is expected` };
  } catch (error) {
    // An expert that refuses a case has lost it; an unavailable one has not.
    if (error instanceof AttemptFailure && error.failureClass === 'AgentError') return { id, passed: false, why: error.message };
    throw error;
  }
}

/** Reports whether the edits fit the files, and produce the expected content of one of them. */
async function meets({ propose: { files }, expect: { path, contains, matches } }: ProposalCase, { edits }: Candidate): Promise<boolean> {
  const contents = new Map(files.map((file) => [file.path, Buffer.from(file.content, 'utf8')]));
  const rewrites = await rewritesOf(edits, (of) => Promise.resolve(contents.get(of) ?? null)).catch(() => []);
  const text = rewrites.find((rewrite) => rewrite.path === path)?.after.toString('utf8');
  if (text === undefined) return false;
  return (contains === undefined || text.includes(contains)) && (matches === undefined || new RegExp(matches, 'mu').test(text));
}
