import { coded } from '@agentfleet/protocol/log';
import { ConfigError, parsePath, reader, type Env } from '@agentfleet/protocol/environment';
import { GoldenArm, goldenEnvironment, type GoldenReport } from '@agentfleet/protocol/golden';
import { tokenFileVariable, bearerFromFile } from '@agentfleet/protocol/tokens';
import { Value } from 'typebox/value';
import { writeFile } from 'node:fs/promises';
import { asError, type Clock, type Log, type Random, silentLog } from '@agentfleet/kube';
import { judgeActs, type AskOptions, type Verdict } from './acts.ts';
import { GoldenFault, readCases, type GoldenSet, type ProposalCase } from './cases.ts';
import { generateBounds, generatingRoles, type Candidate, type GenerateRequest, type GeneratingRole } from '@agentfleet/protocol/inference';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { rewritesOf } from '../features/index.ts';
import { AttemptFailure } from '../base/failure.ts';
import { ExpertsClient } from '../experts/index.ts';

/** The role of an expert that proposes, as requests name it. */
const roleOf = ({ role }: ExpertEndpoint): GeneratingRole | undefined => generatingRoles.find((known) => known === role);

const defaultWithin = 5;

/**
 * Requests proposals from experts and checks whether one of the first produces the expected content. Texts are
 * compared; nothing is run. Rejects when an expert cannot be reached.
 */
async function judgeProposals(
  experts: readonly ExpertEndpoint[],
  cases: readonly ProposalCase[],
  { seed, client, signal }: AskOptions & { readonly seed: number },
): Promise<readonly Verdict[]> {
  const asked = client.of(experts);
  const verdicts: Verdict[] = [];
  for (const one of cases) {
    const { expert, role } = askedOf(experts, one);
    const request: GenerateRequest = { ...requestOf(one, role), seed };
    verdicts.push(await verdictOf(one, () => asked.generate(expert, request, signal)));
  }
  return verdicts;
}

function askedOf(experts: readonly ExpertEndpoint[], { id, expert: name }: ProposalCase) {
  const found = name === undefined ? experts.find((one) => roleOf(one) !== undefined) : experts.find((one) => one.name === name);
  const role = found && roleOf(found);
  if (found === undefined || role === undefined)
    throw new GoldenFault(`case ${id}: the revision has no expert ${name ?? ''} that proposes; correct expert of the case`);
  return { expert: found, role };
}

function requestOf({ id, propose, within = defaultWithin }: ProposalCase, role: GeneratingRole): GenerateRequest {
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

/** @throws ConfigError with all faults */
export function readGoldenConfig(env: Env) {
  const faults: string[] = [];
  const read = reader(env, faults, 'the PodTemplate, or let the operator make the Job from it');
  const config = {
    arm: read(goldenEnvironment.arm, armOf),
    role: read(goldenEnvironment.role, String),
    /** Orders proposals of equal score. */
    seed: read(goldenEnvironment.seed, seedOf),
    /** Folder with the files of cases. */
    set: read('AGENTFLEET_GOLDEN_SET', parsePath, '/golden'),
    /** File for the report. */
    report: read('AGENTFLEET_REPORT', parsePath, '/dev/termination-log'),
    /** File with the token that the servers take; null: they are asked without one. */
    tokenFile: read<string | null>(tokenFileVariable, parsePath, null),
  };
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

function armOf(value: string): GoldenArm {
  const arm: unknown = JSON.parse(value);
  if (!Value.Check(GoldenArm, arm)) throw new Error('it is no revision as the operator writes it; use images of one version');
  return arm;
}

function seedOf(value: string): number {
  const seed = Number(value);
  if (!Number.isInteger(seed) || seed < 0 || seed > 4_294_967_295) throw new Error(`"${value}" is no whole number below 2^32`);
  return seed;
}

/** Inputs of the job. */
type GoldenConfig = Readonly<ReturnType<typeof readGoldenConfig>>;

interface GoldenRun {
  readonly config: GoldenConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Cases that were lost and are named in the log. */
const mostNamed = 100;

const mostWords = 1000;

/** Longest time of retries while a server is silent, ms. */
const maxWaitMs = 60_000;

/**
 * Runs a golden set against a revision, and writes the report.
 * @returns the exit code: 0 when all of the set was tried, whatever the results
 */
export async function runGolden(run: GoldenRun): Promise<0 | 1> {
  const { config, log } = run;
  const { arm, role } = config;
  log.info('a golden set is put to a revision', { kind: arm.kind, name: arm.name, revision: arm.revision, role });
  try {
    const report = await work(run);
    log.info('done', { report: JSON.stringify(report) });
    await writeFile(config.report, JSON.stringify(report));
    return 0;
  } catch (error) {
    const words = asError(error).message.slice(0, mostWords);
    log.error('the set was not run to its end', coded('AF_GOLDEN_FAILED', { error: words }));
    await writeFile(config.report, words);
    return 1;
  }
}

async function work(run: GoldenRun): Promise<GoldenReport> {
  const { arm, set, seed } = run.config;
  const cases = await readCases(set);
  const asking = askOf(run);
  const acts = await found(run, cases, asking);
  const proposals = cases.proposals.length === 0 ? [] : await judgeProposals(arm.experts, cases.proposals, { ...asking, seed });
  const verdicts = [...acts.verdicts, ...proposals];
  if (verdicts.length === 0) throw new GoldenFault(`${set} has no case; add some`);
  tell(run.log, verdicts);
  return {
    passed: verdicts.filter(({ passed }) => passed).length,
    total: verdicts.length,
    ...(acts.heads.length === 0 ? {} : { heads: [...acts.heads] }),
  };
}

function askOf({ config: { tokenFile }, clock, random, log, signal }: GoldenRun): AskOptions {
  const onError = (error: unknown): void => log.warn('the token cannot be read', { error: asError(error).message });
  const bearer = tokenFile === null ? undefined : bearerFromFile(tokenFile, clock, onError);
  return { client: new ExpertsClient({ clock, random, bearer, log: silentLog, maxWaitMs }), clock, signal };
}

async function found(run: GoldenRun, { acts }: GoldenSet, asking: AskOptions): ReturnType<typeof judgeActs> {
  const { verifier, name } = run.config.arm;
  if (acts.length === 0) return { verdicts: [], heads: [] };
  if (verifier === null) throw new GoldenFault(`the set has acts, and ${name} has no verifier; remove them, or set spec.energyModelRef`);
  return judgeActs(verifier, acts, asking);
}

function tell(log: Log, verdicts: readonly Verdict[]): void {
  const lost = verdicts.filter(({ passed }) => !passed);
  for (const { id, why } of lost.slice(0, mostNamed)) log.info('a case was lost', { case: id, why });
  if (lost.length > mostNamed) log.info('more cases were lost', { more: lost.length - mostNamed });
}
