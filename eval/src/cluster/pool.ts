/**
 * A pool of a cluster: tasks of packs become AgentTasks, and their changes are judged here, by hidden checks that are
 * never sent.
 */
import { contains, isAlreadyExists, ResourceClient, sleep, type Clock, type Resource, type Transport } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { EvalError } from '../run/failure.ts';
import { scriptOf, toAgentTask, type PackTask } from '../format/index.ts';
import { notAttempted, resultOf, usageOf, type Attempted } from '../run/results.ts';
import { defaultBudget, type AttemptBudget, type AttemptOptions, type EvalPool, digestOf, type Variant } from '../run/run.ts';

/** Destination of an evaluation's AgentTasks. */
export interface ClusterPlace {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly tasks: Resource<AgentTask>;
  readonly pool: { readonly name: string; readonly namespace: string };
  /** Namespace of the AgentTasks. */
  readonly namespace: string;
}

const pollMs = 500;
/** Time for which a task that is being deleted is awaited, ms; its worker stops first, and its sandbox goes. */
const removalMs = 600_000;

class AgentTasks {
  readonly #place: ClusterPlace;
  readonly #client: ResourceClient<AgentTask>;

  constructor(place: ClusterPlace) {
    this.#place = place;
    this.#client = new ResourceClient(place.transport, place.tasks);
  }

  /**
   * Creates a task; an existing one that is what is asked for is taken as the interrupted one, and one that is being deleted is awaited.
   *
   * @throws EvalError when there is another one of the same name, or when one that is being deleted stays
   */
  async create(task: AgentTask, signal: AbortSignal): Promise<string> {
    const { name } = task.metadata;
    const { namespace, clock } = this.#place;
    const until = clock.monotonic() + removalMs;
    for (;;) {
      try {
        await this.#client.create(task, { fieldManager: 'fleet-eval', signal });
        return name;
      } catch (cause) {
        if (!isAlreadyExists(cause)) throw cause;
        const found = await this.#client.find({ name, namespace }, { signal });
        if (found !== undefined && found.metadata.deletionTimestamp === undefined) {
          if (isAsked(found, task)) return name;
          const message = `AgentTask ${namespace}/${name} exists and is not what is asked for; delete it, or name another namespace`;
          throw new EvalError(message, { cause });
        }
        if (clock.monotonic() > until)
          throw new EvalError(`AgentTask ${namespace}/${name} is being deleted and stays; look at who holds it by metadata.finalizers`, {
            cause,
          });
      }
      if (!(await sleep(clock, pollMs, signal))) signal.throwIfAborted();
    }
  }

  /** Resolves when it has ended, whatever the outcome. */
  async ended(name: string, signal: AbortSignal): Promise<AgentTask> {
    const { clock, namespace } = this.#place;
    for (;;) {
      const found = await this.#client.find({ name, namespace }, { signal });
      if (found === undefined) throw new EvalError(`AgentTask ${namespace}/${name} is gone before it ended; who deleted it?`);
      if (found.status?.finished === 'true') return found;
      if (!(await sleep(clock, pollMs, signal))) signal.throwIfAborted();
    }
  }

  async remove(name: string, signal: AbortSignal): Promise<void> {
    await this.#client.delete({ name, namespace: this.#place.namespace }, { signal });
  }
}

/** The server adds defaults and never changes what was written. */
const isAsked = (found: AgentTask, { metadata, spec }: AgentTask): boolean =>
  contains(found.metadata.annotations, metadata.annotations) && contains(found.spec, spec);

/**
 * Applies a patch to the prepared workspace of a task, in a place that may run foreign code, and runs the hidden check.
 * `attempt` is the name of the AgentTask that made the patch.
 */
export type JudgePatch = (task: PackTask, patch: string, signal: AbortSignal, attempt: string) => Promise<boolean>;

export interface ClusterPoolOptions extends ClusterPlace {
  readonly judge: JudgePatch;
  readonly budget?: AttemptBudget;
}

/** End of a patch that a worker cut for the status. */
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

  /** The pool's programs may change; only its name and the profile are fixed. */
  digest({ profile = 'default', ablations, snapshots }: Variant): Promise<string> {
    const budget = this.#options.budget ?? defaultBudget;
    return Promise.resolve(digestOf({ pool: this.name, profile, ablations, snapshots, budget }));
  }

  async attempt(task: PackTask, variant: Variant, options: AttemptOptions): Promise<Attempted> {
    const { clock, judge } = this.#options;
    const { signal } = options;
    const began = clock.monotonic();
    const seconds = (): number => (clock.monotonic() - began) / 1000;
    try {
      const name = await this.#create(task, variant, options);
      const ended = await this.#tasks.ended(name, signal);
      const attempted = attemptedOf(ended);
      const patch = attempted.result === 'Succeeded' ? patchOf(ended) : undefined;
      const hidden = patch === undefined ? 'NotJudged' : (await judge(task, patch, signal, name)) ? 'Passed' : 'Failed';
      await this.#tasks.remove(name, signal);
      return { ...attempted, hidden, wallSeconds: seconds() };
    } catch (error) {
      signal.throwIfAborted();
      return notAttempted(error, seconds());
    }
  }

  /**
   * The name is the same for the same attempt of a run, so that one that was cut off is found again, and another one for another run
   * and for all that a result depends on: the task with its hidden check, the pool, budget and variant.
   */
  async #create(task: PackTask, variant: Variant, { seed, round, run, signal }: AttemptOptions): Promise<string> {
    const { namespace, pool, budget: used = defaultBudget } = this.#options;
    const key = digestOf([task, await this.digest(variant), variant.name, seed, round, run]);
    const suffix = key.slice('sha256:'.length, 'sha256:'.length + 6);
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
  // A pool that does not allow the experiment proves nothing about the agent.
  const result = outcome === undefined || outcome.reason === 'AblationRefused' ? 'Error' : resultOf(outcome);
  return {
    result: result === 'Succeeded' && phase !== 'Succeeded' ? 'Failed' : result,
    reason: outcome?.reason ?? last?.reason ?? 'NoOutcome',
    message: outcome?.message ?? last?.message ?? `the task ended as ${phase} without an outcome`,
    ...(outcome?.class === undefined ? {} : { class: outcome.class }),
    tried: [],
    usage: usageOf(usage),
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

/** Length of one argument of a set-up step, and their number; see `spec.setup` of an AgentTask. */
const chunk = 8000;
const mostChunks = 60;
/** Enough for set-up and one run of the check, and not for a repair: an expert must not pass it instead. */
const bounds = { toolCalls: 12, wallSeconds: 600 } as const;

function layingOut({ hidden }: Pick<PackTask, 'hidden'>, patch: string): string {
  const encoded = Buffer.from(patch).toString('base64');
  const applying = patch.trim() === '' ? '' : `base64 -d <<'END' | git apply --whitespace=nowarn -p1 -\n${encoded}\nEND\n`;
  return `${applying}${scriptOf(hidden)}\n`;
}

/**
 * The AgentTask that judges the patch of an attempt: the set-up of the task, the patch, the hidden files, and the hidden
 * check alone. Its name is another one for each attempt, as it is removed after its verdict.
 */
export function judgingTask(task: PackTask, patch: string, attempt: string, place: Pick<ClusterPlace, 'namespace' | 'pool'>): AgentTask {
  if (task.hidden.tests !== undefined) throw new EvalError(`${task.id} is judged by its single tests; judge it in a local sandbox`);
  const script = Buffer.from(layingOut(task, patch)).toString('base64');
  const chunks = script.match(new RegExp(`.{1,${chunk}}`, 'g')) ?? [];
  if (chunks.length > mostChunks)
    throw new EvalError(`the patch and hidden check of ${task.id} are too large for an AgentTask; judge it in a local sandbox`);
  const suffix = `j${digestOf([attempt, patch, task.hidden]).slice('sha256:'.length, 'sha256:'.length + 8)}`;
  const manifest = toAgentTask(task, { ...place, suffix, budget: { ...bounds } });
  const { command, timeoutSeconds } = task.hidden;
  const lay = { name: 'lay-out', command: ['sh', '-euc', 'printf %s "$@" | base64 -d | sh -eu', 'sh', ...chunks], timeoutSeconds: 120 };
  const spec = {
    ...manifest.spec,
    goal: 'Hold the hidden check to what was made; there is nothing to be done.',
    setup: [...(manifest.spec.setup ?? []), lay],
    checks: [{ name: 'hidden', command, timeoutSeconds, format: 'Exit', expect: 'Pass' }],
    protect: { paths: [...manifest.spec.protect.paths, ...Object.keys(task.hidden.files)] },
  };
  return { ...manifest, spec } as unknown as AgentTask;
}

/** Returns a judge of patches in the pool of a cluster. The check has passed only when it holds before any act. */
export function clusterJudge(place: ClusterPlace): JudgePatch {
  const tasks = new AgentTasks(place);
  return async (task, patch, signal, attempt) => {
    const name = await tasks.create(judgingTask(task, patch, attempt, place), signal);
    const { status } = await tasks.ended(name, signal);
    await tasks.remove(name, signal);
    const { outcome } = status?.run ?? {};
    const failed =
      outcome === undefined
        ? `it ended as ${status?.phase ?? 'nothing'} without an outcome`
        : `${outcome.reason}: ${outcome.message ?? ''}`;
    if (outcome === undefined || outcome.class === 'Infrastructure' || outcome.class === 'InvalidInput' || outcome.reason === 'SetupFailed')
      throw new EvalError(`${task.id} could not be judged by AgentTask ${name}: ${failed}`);
    return outcome.reason === 'AlreadyHolds';
  };
}
