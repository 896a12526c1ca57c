import {
  addNode,
  changeNode,
  endPlan,
  establish,
  findNode,
  firstUnmet,
  initialPlan,
  noFacts,
  planDigest,
  type Fact,
  type Facts,
  type NodeChange,
  type PlanNode,
} from '../plan/index.ts';
import { AttemptFailure } from '../base/failure.ts';
import type { Meter } from './meter.ts';
import type { AttemptContext, Report } from './ports.ts';
import type { Clock } from '@agentfleet/kube';
import type { ExecEnd, ExecEvent } from '@agentfleet/protocol/keeper';
import { isArtifactCheck, isCommandCheck } from '@agentfleet/protocol/api';

/** Position of the attempt: the current plan, the facts that hold, and the last message. The only state that phases share. */
export class Progress {
  #plan: PlanNode;
  #facts: Facts = noFacts;
  #steps = 0;
  #done = 0;
  #total = 0;
  readonly #context: AttemptContext;
  readonly #meter: Meter;

  constructor(context: AttemptContext, meter: Meter) {
    this.#context = context;
    this.#meter = meter;
    this.#plan = initialPlan(context.task.spec.goal);
  }

  /** Begins a node. @throws AttemptFailure when what its contract requires does not hold: a fault of the engine */
  begin(id: string, message: string): void {
    this.#require(id, findNode(this.#plan, id)?.contract.requires ?? []);
    this.change(id, { state: 'Running' });
    this.#message = message;
    // The phase of the task follows from it.
    this.#context.report({ ...this.#report(), usage: this.#meter.usage() }, { urgent: true });
  }

  /** Ends a node as done and holds it to its contract. */
  finish(id: string, change: NodeChange = {}): void {
    this.#require(id, findNode(this.#plan, id)?.contract.establishes ?? []);
    this.change(id, { ...change, state: 'Done' });
    this.say(null);
  }

  change(id: string, change: NodeChange): void {
    this.#plan = changeNode(this.#plan, id, change);
  }

  /** Adds a step below a node and begins it; gives its id back. */
  step(parent: string, intent: string): string {
    this.#steps += 1;
    const id = `r${this.#steps}`;
    const contract = { requires: ['TreeClean'], establishes: [] } as const;
    this.#plan = addNode(this.#plan, parent, { id, kind: 'Step', intent, state: 'Running', contract });
    this.#require(id, contract.requires);
    return id;
  }

  establish(...facts: readonly Fact[]): void {
    this.#facts = establish(this.#facts, facts);
  }

  revoke(fact: Fact): void {
    this.#facts = new Set([...this.#facts].filter((known) => known !== fact));
  }

  /** Sets the number of judged candidates, and of all that are known. */
  count(done: number, total: number): void {
    this.#done = done;
    this.#total = Math.max(total, done);
  }

  /** Ends the plan with the attempt; what was counted is all there is. Returns what is to be reported. */
  end(result: 'Succeeded' | 'Failed' | 'Stopped'): Report {
    this.#plan = endPlan(this.#plan, ({ Succeeded: 'Done', Failed: 'Failed', Stopped: 'Dropped' } as const)[result]);
    this.#total = this.#done;
    return this.#report();
  }

  /** Reports the current activity with the next write of the status; null keeps the message as it is. */
  say(message: string | null, more: Report = {}): void {
    if (message !== null) this.#message = message;
    this.#context.report({ ...this.#report(), usage: this.#meter.usage(), ...more });
  }

  #report(): Report {
    return { progress: { done: this.#done, total: this.#total, message: this.#message }, plan: planDigest(this.#plan) };
  }

  #require(id: string, facts: readonly Fact[]): void {
    const unmet = firstUnmet(facts, this.#facts);
    if (unmet === null) return;
    throw new AttemptFailure(
      'AgentError',
      'ContractBroken',
      `node ${id} of the plan needs ${unmet}, which does not hold; report this fault`,
    );
  }

  #message = '';
}

interface Watch {
  /** Number of the last event that is known. */
  readonly after: number;
  readonly ms: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Looks at the events of a command until it ends or the time is over. Returns both outputs in the order in which they came, the
 * number of the last event that was seen, and the end; null: it runs on.
 *
 * @param follow the events after `after`
 */
export async function watch(follow: (signal: AbortSignal) => AsyncIterable<ExecEvent>, { after, ms, clock, signal }: Watch) {
  const over = new AbortController();
  const timer = clock.after(ms, () => over.abort());
  const parts: Buffer[] = [];
  let seen = after;
  let end: ExecEnd | null = null;
  try {
    for await (const event of follow(AbortSignal.any([signal, over.signal]))) {
      if ('seq' in event) seen = event.seq;
      if (event.type === 'out') parts.push('text' in event ? Buffer.from(event.text) : Buffer.from(event.b64, 'base64'));
      if (event.type === 'end') end = event;
    }
  } catch (error) {
    if (!over.signal.aborted || signal.aborted) throw error;
  } finally {
    timer.cancel();
  }
  return { output: Buffer.concat(parts).toString('utf8'), seen, end };
}

export type Watched = Awaited<ReturnType<typeof watch>>;

/**
 * `TaskBegan`, the first note of a log: what a trace holds of its task. The consent is in the hash chain before any work, so that
 * no later word changes it; the first such note of a log counts.
 */
export type TaskBeganNote = ReturnType<typeof taskBegan>;

/** The note of a task that begins. Pure. */
export function taskBegan({ task, pool, assignment }: Pick<AttemptContext, 'task' | 'pool' | 'assignment'>) {
  const { namespace = '', name, uid = '' } = task.metadata;
  const { goal, checks, trace } = task.spec;
  return {
    attempt: assignment.attempt,
    consent: trace?.consent ?? pool.traceConsent ?? 'None',
    task: { namespace, name, uid },
    pool: { namespace: pool.pool.namespace, name: pool.pool.name },
    goal,
    checks: checks.map((check) => ({
      name: check.name,
      type: check.type,
      ...(isCommandCheck(check) && { command: check.command }),
      ...(isArtifactCheck(check) && { path: check.path }),
    })),
    models: pool.experts.map(({ name: expert, role, engine, chat }) => ({
      name: expert,
      role,
      engine,
      ...(chat?.model !== undefined && { model: chat.model }),
    })),
  };
}
