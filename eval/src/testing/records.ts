import type { Pack, PackTask } from '../format/index.ts';
import { keyOf, recordFormat, type Attempted, type EvalPool, type EvalRecord, type Variant } from '../run/index.ts';

const usage = { tokensIn: 0, tokensOut: 0, toolCalls: 5, cpuMillis: 40, candidates: 3, vetoes: 0, backtracks: 0 };

/** An attempt that solved its task. */
export const success: Attempted = {
  result: 'Succeeded',
  reason: 'ChecksHold',
  message: '',
  hidden: 'Passed',
  tried: [{ result: 'Reached', operator: 'x', energy: 1, pSuccess: 0.8, k: 2 }],
  usage,
  wallSeconds: 2,
  degraded: [],
};
export const overfit: Attempted = { ...success, hidden: 'Failed' };
export const failure: Attempted = { ...success, result: 'Failed', reason: 'NoCandidates', hidden: 'NotJudged' };

/** A record of a task under a variant. */
export function record(task: string, variant: string, attempted: Attempted, candidates = 3): EvalRecord {
  const about = {
    pack: 'mini',
    packDigest: 'sha256:p',
    variantDigest: 'sha256:v',
    half: 'dev',
    kind: 'single',
    languages: ['python'],
    tags: [],
  } as const;
  const key = { task, variant, seed: 1, round: 1 };
  return { format: recordFormat, ...key, ...about, ...attempted, usage: { ...attempted.usage, candidates } };
}

const check = { command: ['true'], timeoutSeconds: 5, files: {}, start: 'fails' } as const;

/** Returns a pack of so many tasks that are never run. */
export function pack(size: number, hidden = 'x'): Pack {
  const task = (at: number): PackTask => ({
    id: `mini/sum/t${at}`,
    pack: 'mini',
    family: 'sum',
    half: at % 2 === 0 ? 'dev' : 'held-out',
    languages: ['python'],
    kind: 'single',
    goal: 'Add.',
    needs: [],
    files: { 'a.py': 'x' },
    setup: [],
    visible: check,
    hidden: { ...check, files: { 'h.py': hidden } },
    oracle: { files: { 'a.py': 'y' } },
    partial: [],
    decoys: [],
    facts: {},
    seed: 1000 + at,
    tags: [],
  });
  const manifest = { name: 'mini', version: '1.0.0', licence: 'x', author: 'x', halves: { dev: ['sum'], 'held-out': [] } };
  return { manifest, tasks: Array.from({ length: size }, (_, at) => task(at)) };
}

/** A pool with scripted answers, which records its calls. */
export class ScriptedPool implements EvalPool {
  readonly name = 'scripted';
  readonly asked: string[] = [];
  readonly runs = new Set<string | undefined>();
  build = 'one';
  /** What each attempt says to wait for. */
  waits = '';
  answer: (task: PackTask, variant: Variant, round: number) => Attempted | Promise<Attempted> = () => success;

  digest(variant: Variant): Promise<string> {
    return Promise.resolve(`sha256:${this.build}-${variant.name}`);
  }

  async attempt(
    task: PackTask,
    variant: Variant,
    { seed, round, run, signal, onWait }: Parameters<EvalPool['attempt']>[2],
  ): Promise<Attempted> {
    signal.throwIfAborted();
    if (this.waits !== '') onWait?.(this.waits);
    this.runs.add(run);
    this.asked.push(keyOf({ task: task.id, variant: variant.name, seed, round }));
    return this.answer(task, variant, round);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
