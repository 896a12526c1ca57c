import { createHash } from 'node:crypto';
import type { Features } from '@agentfleet/protocol/inference';
import type { Example, ExampleSplit, Stratum } from './example.ts';
import { InvalidData } from './refuse.ts';

/** Outcome of a trial, as an example; the others show nothing that is certain. `Reached`: once, and again in a fresh container. */
const strataOf: Readonly<Record<string, { readonly stratum: Stratum; readonly replays: readonly boolean[] }>> = {
  Reached: { stratum: 'Pass', replays: [true, true] },
  NotVerified: { stratum: 'Flaky', replays: [true, false] },
  Denied: { stratum: 'PolicyViolating', replays: [] },
  Worse: { stratum: 'Fail', replays: [false] },
  Equal: { stratum: 'Fail', replays: [false] },
  Crashed: { stratum: 'Fail', replays: [false] },
};

type Json = Readonly<Record<string, unknown>>;
const objectOf = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
const wordOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Facts of a note that are features of the act. */
function featuresOf(facts: Json): Features {
  const renamed = { ...facts, ...(facts['testsFailing'] !== undefined && { testsFailed: facts['testsFailing'] }) } as Json;
  const names = ['proposalShare', 'suspicion', 'edits', 'testsTotal', 'testsFailed', 'testsFixed', 'seconds'] as const;
  return Object.fromEntries(names.flatMap((name) => (typeof renamed[name] === 'number' ? [[name, renamed[name]]] : []))) as Features;
}

function exampleOf(record: Json, at: number, task: string, split: ExampleSplit): Example | null {
  const { kind, data } = objectOf(record['body']);
  if (record['type'] !== 'Noted' || kind !== 'Tried') return null;
  const note = objectOf(data);
  const known = strataOf[wordOf(note['result'])];
  if (known === undefined) return null;
  const acts = wordOf(note['operator']).startsWith('act');
  return {
    id: `${task}.${at}`,
    problem: task,
    split,
    head: acts ? 'Shell' : 'Code',
    ...known,
    text: wordOf(note['text']) || wordOf(note['location']),
    operator: wordOf(note['operator']),
    features: featuresOf(objectOf(note['facts'])),
  };
}

/** Split of a task by the hash of its name: a later trace of it falls into the same part. */
export function splitOfTask(task: string): ExampleSplit {
  const share = createHash('sha256').update(task).digest().readUInt32BE(0) / 2 ** 32;
  return share < 0.6 ? 'train' : share < 0.8 ? 'calibration' : 'heldOut';
}

/**
 * Examples of the trace that an attempt leaves (`trace.ndjson`, the event log). All attempts at a task are one problem.
 *
 * @param task namespace and name of the task
 * @throws InvalidData for a line that is no record
 */
export function readTrace(text: string, task: string): readonly Example[] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.flatMap((line, at) => {
    let record: unknown;
    try {
      record = JSON.parse(line);
    } catch (cause) {
      throw new InvalidData(`line ${at + 1} of the trace of ${task} is no JSON; fetch the artifact trace.ndjson again`, { cause });
    }
    return exampleOf(objectOf(record), at, task, splitOfTask(task)) ?? [];
  });
}
