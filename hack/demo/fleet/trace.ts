import { notesOf, numberOf } from '@agentfleet/cli/evidence';
import { type Fields, textOf } from '@agentfleet/protocol/text';
import type { AuditRecord } from '@agentfleet/protocol/keeper';

/** Result of one candidate. */
export interface TriedCandidate {
  readonly result: string;
  readonly decision: string;
  readonly why: string;
  /** Candidates that were compared in its round. */
  readonly k: number | undefined;
}

/** One request to the egress proxy, or several of the same kind. */
export interface EgressRequest {
  readonly host: string;
  readonly decision: string;
}

/** Facts of the event log of a sandbox, read from its records alone. */
export interface TraceFacts {
  /** Manifest digest of the newest snapshot with the label `initial`. */
  readonly initial: string | undefined;
  /** Manifest digest that the last finished restore found, and its record. */
  readonly restored: { readonly digest: string; readonly verified: boolean; readonly seq: number } | undefined;
  /** Manifest digest of the newest snapshot before that restore: the tree that was undone. */
  readonly undone: string | undefined;
  /** Time at which the first command was asked for, in milliseconds since the epoch. */
  readonly firstExec: number | undefined;
  readonly execs: number;
  /** Candidates that were judged, in order. */
  readonly candidates: readonly TriedCandidate[];
  readonly egress: readonly EgressRequest[];
  /** Calls of a chat model, in order, and what it got to see of each. */
  readonly calls: readonly { readonly tool: string; readonly text: string }[];
  /** Tokens that its replies were charged, requests and answers together. */
  readonly charged: { readonly tokensIn: number; readonly tokensOut: number };
  /** The last record after which the tree may have changed. */
  readonly lastChange: number;
}

const changing: ReadonlySet<string> = new Set(['ExecRequested', 'FileWritten', 'TreeWritten', 'PatchApplied']);

/** Reads the facts out of the records. Pure. */
export function traceFacts(records: readonly AuditRecord[]): TraceFacts {
  const execs = records.filter(({ type }) => type === 'ExecRequested');
  const initial = records.findLast(({ type, body }) => type === 'SnapshotTaken' && body['label'] === 'initial');
  const restored = records.findLast(({ type, body }) => type === 'SnapshotRestored' && body['phase'] === 'Done');
  const undone = records.findLast(({ type, seq }) => type === 'SnapshotTaken' && seq < (restored?.seq ?? 0));
  const [first] = execs;
  return {
    initial: digestOf(initial),
    restored:
      restored === undefined
        ? undefined
        : { digest: digestOf(restored) ?? '', verified: restored.body['verified'] === true, seq: restored.seq },
    undone: digestOf(undone),
    firstExec: first === undefined ? undefined : Date.parse(first.at),
    execs: execs.length,
    candidates: notesOf(records, 'Tried').map(({ result, decision, why, signals }) => ({
      result: textOf(result),
      decision: textOf(decision),
      why: textOf(why),
      k: countIn(signals, 'k'),
    })),
    egress: notesOf(records, 'Egress').flatMap(({ requests }) =>
      Array.isArray(requests) ? requests.map((one: Fields) => ({ host: textOf(one['host']), decision: textOf(one['decision']) })) : [],
    ),
    calls: notesOf(records, 'CallObserved').map(({ tool, text }) => ({ tool: textOf(tool), text: textOf(text) })),
    charged: chargesOf(records),
    lastChange: records.findLast(({ type }) => changing.has(type))?.seq ?? 0,
  };
}

function chargesOf(records: readonly AuditRecord[]): TraceFacts['charged'] {
  const usages = notesOf(records, 'ModelReplied').map(({ charged }) => (charged as Fields | undefined)?.['usage']);
  const sum = (member: string): number => usages.reduce<number>((total, usage) => total + (countIn(usage, member) ?? 0), 0);
  return { tokensIn: sum('input'), tokensOut: sum('output') };
}

function countIn(value: unknown, member: string): number | undefined {
  return typeof value === 'object' && value !== null ? numberOf((value as Fields)[member]) : undefined;
}

function digestOf(record: AuditRecord | undefined): string | undefined {
  const digest = record?.body['manifestDigest'];
  return typeof digest === 'string' ? digest : undefined;
}
