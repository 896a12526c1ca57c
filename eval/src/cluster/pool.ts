/** A pool of a cluster: tasks of packs become AgentTasks, and what they changed is judged here, by hidden checks that never leave. */
import type { AgentTask } from '@agentfleet/protocol/api';
import { EvalError } from '../failure.ts';
import { toAgentTask, type PackTask } from '../format/index.ts';
import { notAttempted, resultOf, type Attempted } from '../run/record.ts';
import { defaultBudget, type AttemptBudget, type AttemptOptions, type EvalPool } from '../run/pool.ts';
import { digestOf, type Variant } from '../run/variant.ts';
import { AgentTasks, type ClusterPlace } from './tasks.ts';

/** Applies a patch to the prepared workspace of a task, in a place that may run strangers' code, and runs the hidden check. */
export type JudgePatch = (task: PackTask, patch: string, signal: AbortSignal) => Promise<boolean>;

export interface ClusterPoolOptions extends ClusterPlace {
  readonly judge: JudgePatch;
  readonly budget?: AttemptBudget;
}

/** How a worker ends a patch that it cut for the status. */
const cutInStatus = /\n… cut; [^\n]*\n$/;

/** Makes, follows and removes AgentTasks; a variant is a profile of the pool, or an ablation that the pool allows. */
export class ClusterPool implements EvalPool {
  readonly name: string;
  readonly #options: ClusterPoolOptions;
  readonly #tasks: AgentTasks;

  constructor(options: ClusterPoolOptions) {
    this.#options = options;
    this.name = `${options.pool.namespace}/${options.pool.name}`;
    this.#tasks = new AgentTasks(options);
  }

  /** What the pool runs may change under us; its name and the profile are all that can be held on to. */
  digest({ profile = 'default', ablations, snapshots }: Variant): Promise<string> {
    const budget = this.#options.budget ?? defaultBudget;
    return Promise.resolve(digestOf({ pool: this.name, profile, ablations, snapshots, budget }));
  }

  async attempt(task: PackTask, variant: Variant, { seed, round, signal }: AttemptOptions): Promise<Attempted> {
    const { clock, judge } = this.#options;
    const began = clock.monotonic();
    const seconds = (): number => (clock.monotonic() - began) / 1000;
    try {
      const name = await this.#create(task, variant, seed, round, signal);
      const ended = await this.#tasks.ended(name, signal);
      const attempted = attemptedOf(ended);
      const patch = attempted.result === 'Succeeded' ? patchOf(ended) : undefined;
      const hidden = patch === undefined ? 'NotJudged' : (await judge(task, patch, signal)) ? 'Passed' : 'Failed';
      await this.#tasks.remove(name, signal);
      return { ...attempted, hidden, wallSeconds: seconds() };
    } catch (error) {
      signal.throwIfAborted();
      return notAttempted(error, seconds());
    }
  }

  /** The name is the same for the same attempt, so that one that was cut off is found again. */
  async #create(task: PackTask, variant: Variant, seed: number, round: number, signal: AbortSignal): Promise<string> {
    const { namespace, pool, budget: used = defaultBudget } = this.#options;
    const suffix = digestOf([variant.name, seed, round]).slice('sha256:'.length, 'sha256:'.length + 6);
    const { profile, ablations, snapshots } = variant;
    const changed = { ...(profile !== undefined && { profile }), ablations, snapshots };
    const budget = { ...used } as AgentTask['spec']['budget'];
    const manifest = toAgentTask(task, { namespace, pool, suffix, ...changed, budget });
    return this.#tasks.create(manifest as unknown as AgentTask, signal);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

function attemptedOf({ status }: AgentTask): Omit<Attempted, 'hidden' | 'wallSeconds'> {
  const { outcome, usage, signals } = status?.run ?? {};
  const phase = status?.phase ?? '';
  const last = status?.conditions?.find(({ type, status: value }) => type === 'Accepted' && value === 'False');
  // A pool that does not allow the experiment says nothing about the agent.
  const result = outcome === undefined || outcome.reason === 'AblationRefused' ? 'Error' : resultOf(outcome);
  return {
    result: result === 'Succeeded' && phase !== 'Succeeded' ? 'Failed' : result,
    reason: outcome?.reason ?? last?.reason ?? 'NoOutcome',
    message: outcome?.message ?? last?.message ?? `the task ended as ${phase} without an outcome`,
    ...(outcome?.class === undefined ? {} : { class: outcome.class }),
    tried: [],
    usage: {
      tokensIn: usage?.tokensIn ?? 0,
      tokensOut: usage?.tokensOut ?? 0,
      toolCalls: usage?.toolCalls ?? 0,
      cpuMillis: usage?.cpuMillis ?? 0,
      candidates: usage?.candidates ?? 0,
      vetoes: usage?.vetoes ?? 0,
      backtracks: usage?.backtracks ?? 0,
    },
    degraded: [...(signals?.degraded ?? [])],
  };
}

/** The whole patch; half of one would be judged as if it were all. */
function patchOf({ metadata, status }: AgentTask): string {
  const patch = status?.run?.patch ?? '';
  if (cutInStatus.test(patch))
    throw new EvalError(
      `the patch of AgentTask ${metadata.name} is cut in its status, so that it cannot be judged; use tasks with small changes`,
    );
  return patch;
}
