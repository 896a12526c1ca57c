import { writeFile } from 'node:fs/promises';
import { asError, type Clock, type Log, type Random } from '@agentfleet/kube';
import type { GoldenReport } from '@agentfleet/protocol/golden';
import { bearerFromFile } from '@agentfleet/protocol/tokens';
import { judgeActs, type AskOptions, type Verdict } from './acts.ts';
import { GoldenFault, readCases, type GoldenSet } from './cases.ts';
import type { GoldenConfig } from './config.ts';
import { judgeProposals } from './proposals.ts';

export interface GoldenRun {
  readonly config: GoldenConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Cases that were lost and are named in the log. */
const mostNamed = 100;

const mostWords = 1000;

/**
 * Puts a golden set to a revision, and writes the report.
 * @returns the exit code: 0 when all of the set was tried, whatever came of it
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
    log.error('the set was not run to its end', { error: words });
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
  return { clock, random, signal, ...(tokenFile !== null && { bearer: bearerFromFile(tokenFile, clock, onError) }) };
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
