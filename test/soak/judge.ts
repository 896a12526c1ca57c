import { findCondition } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import type { Drawn, Kind } from './tasks.ts';

/** Facts that the event log of a task proves. */
export interface LogFacts {
  /** Sentences about a chain, a head or a file that is not as it has to be. */
  readonly faults: readonly string[];
  /** Commands that were begun or ended more than once. */
  readonly repeated: readonly string[];
  /** Outward effects whose end a worker saw. */
  readonly done: number;
  /** Those that were begun and whose end no worker saw. */
  readonly open: number;
}

/** Reads the facts of records whose chain was checked. Pure. */
export function factsOf(records: readonly AuditRecord[], faults: readonly string[]): LogFacts {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  const effects = new Map<string, string>();
  for (const { type, body } of records) {
    if (type === 'ExecRequested' || type === 'ExecEnded') {
      const what = `${type} ${String(body['execId'])}`;
      if (seen.has(what)) repeated.add(what);
      seen.add(what);
    }
    const data = body['data'] as { readonly id?: string; readonly outcome?: string } | undefined;
    if (type !== 'Noted' || data?.id === undefined) continue;
    if (body['kind'] === 'EffectPlanned') {
      if (effects.has(data.id)) repeated.add(`EffectPlanned ${data.id}`);
      effects.set(data.id, 'Open');
    }
    if (body['kind'] === 'EffectEnded') effects.set(data.id, data.outcome ?? '');
  }
  const count = (holds: (outcome: string) => boolean): number => [...effects.values()].filter(holds).length;
  return {
    faults,
    repeated: [...repeated],
    done: count((outcome) => outcome === 'Done'),
    open: count((outcome) => outcome === 'Open' || outcome === 'Unknown'),
  };
}

/** All that the API server, the storage and the outside world hold at the end. */
export interface Evidence {
  readonly submitted: readonly Drawn[];
  readonly tasks: readonly AgentTask[];
  /** Number of times that each entry stands in the ledger. */
  readonly ledger: Readonly<Record<string, number>>;
  /** By name of the task; tasks that never ran have none. */
  readonly logs: ReadonlyMap<string, LogFacts>;
  /** Broken promises in the histories that were watched. */
  readonly broken: readonly string[];
  /** Objects, keys and processes that belong to nothing any more. */
  readonly orphans: readonly string[];
}

export interface Verdict {
  readonly succeeded: number;
  /** Failed and rolled back. */
  readonly failed: number;
  readonly cancelled: number;
  readonly lost: readonly string[];
  readonly twice: readonly string[];
  /** Ends that no death may cause, and histories and logs that break a promise. */
  readonly wrong: readonly string[];
  readonly orphans: readonly string[];
}

type End = 'Succeeded' | 'Failed' | 'Cancelled';

/** Ends that a task may come to. An order may come after the end. */
const ends: Readonly<Record<Kind, readonly End[]>> = {
  write: ['Succeeded'],
  outward: ['Succeeded'],
  wrong: ['Failed'],
  cancelled: ['Cancelled', 'Succeeded'],
};

/** Returns the end of a task; undefined: it has not ended, or nothing reports that it was rolled back. */
function endOf({ status }: AgentTask): End | undefined {
  if (status?.finished !== 'true') return undefined;
  if (findCondition(status.conditions, 'Succeeded')?.status === 'True') return 'Succeeded';
  if (status.phase === 'Cancelled') return 'Cancelled';
  return status.phase === 'Failed' && findCondition(status.conditions, 'RolledBack')?.status === 'True' ? 'Failed' : undefined;
}

/** Holds what is there against what was submitted. Pure. */
export function judge({ submitted, tasks, ledger, logs, broken, orphans }: Evidence): Verdict {
  const byName = new Map(tasks.map((task) => [task.metadata.name, task]));
  const count = { Succeeded: 0, Failed: 0, Cancelled: 0 };
  const lost: string[] = [];
  const twice: string[] = [];
  const wrong: string[] = [...broken];
  for (const drawn of submitted) {
    const { name, kind } = drawn;
    const task = byName.get(name);
    const end = task === undefined ? undefined : endOf(task);
    if (task === undefined || end === undefined) {
      lost.push(`${name}: ${task === undefined ? 'the task is gone' : described(task)}`);
      continue;
    }
    count[end] += 1;
    if (!ends[kind].includes(end)) wrong.push(`${name}: ${described(task)}`);
    const facts = logs.get(name);
    if (end === 'Succeeded' && facts === undefined) wrong.push(`${name}: it has no event log`);
    wrong.push(...(facts?.faults ?? []).map((fault) => `${name}: ${fault}`));
    twice.push(...(facts?.repeated ?? []).map((what) => `${name}: ${what} stands twice in the log`));
    const entries = ledger[name] ?? 0;
    if (entries > 1) twice.push(`${name}: ${entries} entries in the ledger`);
    if (facts !== undefined && (entries < facts.done || entries > facts.done + facts.open))
      wrong.push(`${name}: ${entries} entries in the ledger, ${facts.done} and ${facts.open} open ones in the log`);
  }
  const known = new Set(submitted.map(({ name }) => name));
  for (const name of byName.keys()) if (!known.has(name)) twice.push(`${name}: nobody submitted it`);
  for (const name of Object.keys(ledger)) if (!known.has(name)) wrong.push(`${name}: an entry in the ledger of no task`);
  return { succeeded: count.Succeeded, failed: count.Failed, cancelled: count.Cancelled, lost, twice, wrong, orphans };
}

function described({ status }: AgentTask): string {
  const said = (status?.conditions ?? []).map(({ type, status: is, reason, message }) => `${type}=${is} ${reason}: ${message}`);
  return `${status?.phase ?? 'not looked at'} (${said.join('; ')})`;
}
