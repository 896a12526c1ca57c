import { probabilityBins } from '@agentfleet/protocol/inference';
import type { AgentTask, ShadowReport, RolloutStatus } from '@agentfleet/protocol/api';
import type { ConditionValue } from '../runtime/resources.ts';
import type { ShadowEvidence, Table } from '../rollout/index.ts';

/** Counts of probabilities by bin. */
type Bins = readonly number[];

/** Counts of nothing. */
export const noBins: Bins = Array.from({ length: probabilityBins }, () => 0);

/** Sums of two counts; those of another number of bins, as an older or newer worker reports them, count nothing. Pure. */
export function addBins(to: Bins, more: Bins | undefined): Bins {
  if (more?.length !== probabilityBins) return to;
  return to.map((count, bin) => count + (more[bin] ?? 0));
}

/** Counts of copies, by the names under which workers report them. */
const counters = ['answered', 'failed', 'dropped', 'candidates', 'sameCandidates'] as const satisfies readonly (keyof ShadowReport)[];

export type CopyCounts = Readonly<Record<(typeof counters)[number], number>>;

/** Counts that a book holds of the copies of one rollout. */
export interface ShadowTallies {
  /** Tasks that ended. */
  readonly tasks: number;
  readonly copies: CopyCounts;
  /** Acts of all tasks, by who refuses them; the stable verifier is the first. */
  readonly acts: Table;
  /** Those of tasks that succeeded: what the shadow alone refuses of them would have been in their way. */
  readonly ofSucceeded: Table;
  /** Those of tasks that failed: what neither refuses of them both missed. */
  readonly ofFailed: Table;
  /** Acts by the bins of the two verifiers' energies. */
  readonly scores: { readonly stable: Bins; readonly shadow: Bins };
}

/** More tasks of a shadow than this are not counted: enough for any gate, few enough for the list of who is counted. */
export const mostShadowTasks = 20_000;

const noTable: Table = { both: 0, onlyFirst: 0, onlySecond: 0, neither: 0 };
const noCopies = Object.fromEntries(counters.map((name) => [name, 0])) as CopyCounts;

/** Tallies of a rollout without copies. */
export const noShadow: ShadowTallies = {
  tasks: 0,
  copies: noCopies,
  acts: noTable,
  ofSucceeded: noTable,
  ofFailed: noTable,
  scores: { stable: noBins, shadow: noBins },
};

function addTable(to: Table, report: ShadowReport): Table {
  return {
    both: to.both + report.bothVetoed,
    onlyFirst: to.onlyFirst + report.onlyStableVetoed,
    onlySecond: to.onlySecond + report.onlyShadowVetoed,
    neither: to.neither + report.neitherVetoed,
  };
}

/** Both or none: they are of the same acts. */
function addScores({ stable, shadow }: ShadowTallies['scores'], { stableBins, shadowBins }: ShadowReport): ShadowTallies['scores'] {
  if (stableBins?.length !== shadowBins?.length) return { stable, shadow };
  return { stable: addBins(stable, stableBins), shadow: addBins(shadow, shadowBins) };
}

/** Sums of copies with those of one report. Pure. */
function addCopies(to: CopyCounts, report: ShadowReport): CopyCounts {
  return Object.fromEntries(counters.map((name) => [name, to[name] + report[name]])) as CopyCounts;
}

/** Tallies with the end of one task; `passed` undefined: its end is no evidence about who judged it. Pure. */
export function addShadow(to: ShadowTallies, report: ShadowReport | null, passed: boolean | undefined): ShadowTallies {
  const tasks = to.tasks + 1;
  if (report === null) return { ...to, tasks };
  return {
    tasks,
    copies: addCopies(to.copies, report),
    acts: addTable(to.acts, report),
    ofSucceeded: passed === true ? addTable(to.ofSucceeded, report) : to.ofSucceeded,
    ofFailed: passed === false ? addTable(to.ofFailed, report) : to.ofFailed,
    scores: addScores(to.scores, report),
  };
}

/** Returns a task's report of copies for the rollout in whose shadow phase it was assigned; null: none. Pure. */
export function shadowReportOf({ status }: AgentTask): ShadowReport | null {
  const { assignment, run } = status ?? {};
  return assignment?.shadow !== undefined && run?.shadow?.rollout === assignment.shadow ? run.shadow : null;
}

/** Sums of what tasks that have not ended report of copies for a rollout. Pure. */
export function copiesUnderWay(tasks: readonly AgentTask[]): CopyCounts {
  return tasks.map(shadowReportOf).reduce<CopyCounts>((sum, report) => (report === null ? sum : addCopies(sum, report)), noCopies);
}

/** Returns the part of the tallies that gates read. Pure. */
export function shadowEvidence({ copies, acts, ofSucceeded, scores }: ShadowTallies): ShadowEvidence {
  return { answered: copies.answered, acts, ofSucceeded, scores };
}

/** Known counts of the copies that a revision in shadow gets. */
export interface ShadowView {
  /** Tasks that have not ended and whose requests are copied. */
  readonly tasks: number;
  /** Counts that those tasks report, and counts that the book holds of tasks that have ended. */
  readonly live: CopyCounts;
  readonly ended: CopyCounts;
}

/** Seconds in which the first copies may come. */
const graceSeconds = 60;

const percent = (part: number, whole: number): string => `${Math.round((100 * part) / Math.max(1, whole))} %`;

/**
 * The condition ShadowHealthy: whether copies are answered. By the reports of tasks that are worked on, where there are any,
 * as a shadow that answered yesterday may be gone. Undefined: nothing is in shadow. Pure. `now` is wall time in ms.
 */
export function shadowCondition(status: RolloutStatus | undefined, view: ShadowView | undefined, now: number): ConditionValue | undefined {
  if (status?.phase !== 'Shadowing' || view === undefined) return undefined;
  const { live, ended, tasks } = view;
  const { answered, failed, dropped } = live.answered + live.failed + live.dropped > 0 ? live : ended;
  const sent = answered + failed;
  const revision = `revision ${status.canary ?? ''}`;
  if (sent + dropped === 0) {
    const early = now - Date.parse(status.since) < 1000 * graceSeconds;
    if (early) return { status: 'Unknown', reason: 'Beginning', message: `no request was copied to ${revision} yet` };
    const message = `no request was copied to ${revision}, and ${tasks} tasks are worked on of which some would be; give the pool tasks, or raise shadow.percent of its RolloutPolicy`;
    return { status: 'False', reason: 'NoTraffic', message };
  }
  if (dropped > sent) {
    const message = `${percent(dropped, sent + dropped)} of the copies to ${revision} are dropped; lower shadow.percent of its RolloutPolicy, or give it faster engines`;
    return { status: 'False', reason: 'Dropping', message };
  }
  if (failed > answered) {
    const message = `${percent(failed, failed + answered)} of the copies to ${revision} are not answered in time or at all; look at its pods`;
    return { status: 'False', reason: 'Unreachable', message };
  }
  return { status: 'True', reason: 'Answering', message: `copies of requests are answered by ${revision}` };
}
