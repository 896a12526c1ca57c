import {
  asError,
  isApiError,
  isNotFound,
  keyOf,
  ResourceClient,
  sleep,
  TokenSource,
  withFields,
  type Clock,
  type Log,
  type Random,
  type Transport,
} from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { traceOfTask } from '@agentfleet/protocol/tracing';
import {
  ablatedBrief,
  ablationAnnotations,
  ablationNames,
  assignedBrief,
  type ArtifactPlace,
  type PoolBrief,
} from '@agentfleet/protocol/pool';
import type { Bearer } from '@agentfleet/protocol/tokens';
import type { Dispatcher } from 'undici';
import { AttemptFailure } from '../base/failure.ts';
import type { AttemptEngine, Outcome } from '../attempt/ports.ts';
import type { WorkerConfig } from '../base/config.ts';
import { Durability, Shelves, Sweeper, type ActiveTasks, type DurabilityOptions } from '../durable/index.ts';
import { InferenceClient, type ExpertsClient } from '../experts/index.ts';
import type { WorkerMetrics } from '../http/metrics.ts';
import { computeOf, PoolDecisionModels, type FleetOptions } from '../decision/index.ts';
import { ChatModelsClient, type ChatModels } from '../models/index.ts';
import { baseOf, Reporter, runFilter } from '../report/index.ts';
import { resources } from '../base/resources.ts';
import { Lane, Mirror, mirroredExperts } from '../shadow/index.ts';
import type { ArtifactStore } from '../store/index.ts';
import { SandboxLink } from './sandbox/connect.ts';
import { AssignmentRunner } from './assignmentRunner.ts';
import { keepSeconds } from './copies.ts';

export interface AssignmentRunnerFactoryOptions {
  /** Fenced by the worker's lease. */
  readonly transport: Transport;
  readonly config: Pick<WorkerConfig, 'pod' | 'serviceAccount' | 'poolUid'>;
  readonly brief: () => PoolBrief;
  readonly experts: ExpertsClient;
  /** Connections to the model gateway; absent: own ones. */
  readonly dispatcher?: Dispatcher;
  /** The token for copies of requests; absent: none. */
  readonly bearer?: Bearer | undefined;
  readonly engine: AttemptEngine;
  /** Makes the store of a place. */
  readonly openStore: (place: ArtifactPlace) => ArtifactStore;
  readonly metrics: Pick<WorkerMetrics, 'attempt' | 'auditGap' | 'firstAct' | 'statusWrite'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Port of the keepers; another one in tests. */
  readonly keeperPort?: number;
}

/** Creates assignment runners, and holds what they share: clients, tokens, open stores. */
export class AssignmentRunnerFactory {
  readonly #options: AssignmentRunnerFactoryOptions;
  readonly #tokens: TokenSource;
  readonly #filter = runFilter();
  readonly #shelves: Shelves;
  readonly #sweeper: Sweeper;
  /** Features that verifiers read; see `FleetOptions.reads`. */
  readonly #reads: NonNullable<FleetOptions['reads']> = new Map();
  readonly #lane = new Lane();
  readonly #copies: InferenceClient;

  constructor(options: AssignmentRunnerFactoryOptions) {
    this.#options = options;
    const { config, clock, log, transport, bearer } = options;
    this.#shelves = new Shelves(clock);
    const most = (): number | undefined => options.brief().maxRetentionSeconds;
    this.#sweeper = new Sweeper({ worker: config.pod.name, clock, log, active: activeTasks(options), most });
    this.#copies = new InferenceClient({ clock, bearer });
    const client = new ResourceClient(transport, resources.serviceAccounts);
    this.#tokens = new TokenSource({
      client,
      pod: config.pod,
      account: { namespace: config.pod.namespace, name: config.serviceAccount },
      clock,
    });
  }

  /** Begins to run a task that has an assignment. `onSpent` is called when its epoch is refused. */
  begin(task: AgentTask, onSpent: () => void): AssignmentRunner {
    const { brief, experts, engine, metrics, clock, random } = this.#options;
    const assignment = task.status?.assignment;
    if (assignment === undefined) throw new Error(`task ${keyOf(task)} has no assignment`);
    const { epoch, attempt, sandbox } = assignment;
    const log = withFields(this.#options.log, idsOf(task, { epoch, attempt }));
    const known = brief();
    const assigned = assignedBrief(known, assignment);
    const pool = ablatedBrief(
      typeof assigned === 'string' ? known : assigned,
      ablationNames(task.metadata.annotations?.[ablationAnnotations.asked]),
    );
    const mirror = this.#mirror(task, log);
    const options = {
      engine: typeof assigned === 'string' ? withoutRevision(engine, assigned) : engine,
      given: { ...this.#given(task, pool, log), experts: mirroredExperts(experts.of(pool.experts), mirror) },
      mirror,
      openDecisionModels: (of: AgentTask, signal: AbortSignal) => {
        const name = `${of.metadata.uid ?? of.metadata.name}.${attempt}.${epoch}`;
        const compute = computeOf(pool, of.spec.profile);
        const own = { pool, compute, name, signal, ...(mirror !== undefined && { mirror }) };
        return new PoolDecisionModels({ ...own, parts: experts.parts, now: () => clock.now(), reads: this.#reads });
      },
      link: this.#link({ name: sandbox, epoch }),
      reporter: this.#reporter(task, attempt, epoch, log, onSpent),
      random,
      onCopied: () => void this.#sweeper.taskEnded(this.#options.openStore(pool.storage)),
      openDurability: (onWritten: DurabilityOptions['onWritten']) => this.#durability(task, pool, { epoch, log, onWritten }),
      onOutcome: (outcome: Outcome) => metrics.attempt(outcome),
      onSuperseded: onSpent,
    };
    return new AssignmentRunner(options, task);
  }

  #given(task: AgentTask, pool: PoolBrief, log: Log) {
    const { clock, metrics } = this.#options;
    return {
      pool,
      models: this.#models(pool, log),
      store: this.#options.openStore(pool.storage),
      clock,
      log,
      readConfigMap: (name: string) => this.#readConfigMap(task.metadata.namespace ?? '', name),
      actedFirst: () => metrics.firstAct((clock.now() - Date.parse(task.metadata.creationTimestamp ?? '')) / 1000),
    };
  }

  /** The chat models of a pool, asked by a token for its gateway; undefined where it has none. */
  #models({ gateway }: PoolBrief, log: Log): ChatModels | undefined {
    if (gateway === undefined) return undefined;
    const { clock, random, dispatcher } = this.#options;
    const own = { tokens: this.#tokens, audience: gateway.audience, clock, random, log };
    return new ChatModelsClient({ ...own, ...(dispatcher !== undefined && { dispatcher }) });
  }

  /** Copies requests of a task that was assigned in the shadow phase of a rollout, as long as the brief has that phase. */
  #mirror({ status }: AgentTask, log: Log): Mirror | undefined {
    const { brief, clock } = this.#options;
    const rollout = status?.assignment?.shadow;
    if (rollout === undefined) return undefined;
    const shadow = (): PoolBrief['shadow'] => {
      const { shadow: now } = brief();
      return now?.rollout === rollout ? now : undefined;
    };
    return new Mirror({ shadow, before: status?.run?.shadow, client: this.#copies, lane: this.#lane, clock, log });
  }

  #link(ref: { readonly name: string; readonly epoch: number }): SandboxLink {
    const { clock, random, keeperPort } = this.#options;
    const port = keeperPort === undefined ? {} : { port: keeperPort };
    return new SandboxLink({ tokens: this.#tokens, clock, random, ...port }, ref);
  }

  #reporter(task: AgentTask, attempt: number, epoch: number, log: Log, onNotMine: () => void): Reporter {
    const { transport, metrics, clock, random } = this.#options;
    const { name, namespace = '', uid = '' } = task.metadata;
    return new Reporter({
      client: new ResourceClient(transport, resources.agentTasks),
      task: { name, namespace, uid },
      base: baseOf(task, attempt, epoch),
      filter: this.#filter,
      clock,
      random,
      log,
      onWrite: (result) => metrics.statusWrite(result),
      onNotMine,
    });
  }

  #durability(task: AgentTask, brief: PoolBrief, given: Pick<DurabilityOptions, 'epoch' | 'log' | 'onWritten'>): Durability {
    const { name, namespace = '', uid = '' } = task.metadata;
    const { checkpointURI } = task.status?.run?.snapshots ?? {};
    const { auditRoot } = task.status?.run ?? {};
    const { storage } = brief;
    const store = this.#options.openStore(storage);
    const { poolUid: pool } = this.#options.config;
    return new Durability({
      ...given,
      store,
      shelf: () => this.#shelves.of(storage, store),
      task: { namespace, name, uid },
      checkpointSeconds: task.spec.snapshots.checkpointSeconds,
      active: pool === null ? undefined : { pool, keepSeconds: keepSeconds(task, brief) },
      onGap: () => this.#options.metrics.auditGap(),
      reported: { ...(checkpointURI !== undefined && { checkpointURI }), ...(auditRoot !== undefined && { auditRoot }) },
      clock: this.#options.clock,
    });
  }

  async #readConfigMap(namespace: string, name: string): Promise<Readonly<Record<string, string>>> {
    const client = new ResourceClient(this.#options.transport, resources.configMaps);
    const { clock } = this.#options;
    const began = clock.monotonic();
    for (;;) {
      try {
        return (await client.get({ namespace, name })).data ?? {};
      } catch (error) {
        if (isNotFound(error)) {
          const message = `there is no ConfigMap ${name} in namespace ${namespace}; create it before the task`;
          throw new AttemptFailure('InvalidInput', 'ConfigMapNotFound', message);
        }
        // The operator grants access to objects that tasks name, and the task may be newer than that.
        if (!isApiError(error) || error.code !== 403 || clock.monotonic() - began > permissionMs) throw error;
      }
      await sleep(clock, permissionRetryMs);
    }
  }
}

/** Lists what a sweep asks the API server for; undefined where the worker does not know the uid of its pool. */
function activeTasks({
  config: { poolUid },
  transport,
  brief,
  log,
}: Pick<AssignmentRunnerFactoryOptions, 'config' | 'transport' | 'brief' | 'log'>): ActiveTasks | undefined {
  if (poolUid === null) return undefined;
  const client = new ResourceClient(transport, resources.agentTasks);
  const list = async (namespace: string, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> => {
    const uids = new Set<string>();
    try {
      for await (const { items } of client.pages({ namespace, fieldSelector: 'status.finished=false', limit: 100, signal }))
        for (const { metadata } of items) uids.add(metadata.uid ?? '');
      return uids;
    } catch (error) {
      // A namespace without tasks of the pool, also ended ones, is closed to its workers, and the brief has it no more.
      const isClosed = isApiError(error) && error.code === 403;
      if (isClosed && !brief().namespaces.includes(namespace)) return new Set();
      if (!isClosed) log.warn('active tasks cannot be listed', { namespace, error: asError(error).message });
      return undefined;
    }
  };
  return { pool: poolUid, list };
}

function idsOf(task: AgentTask, of: { readonly epoch: number; readonly attempt: number }): Readonly<Record<string, unknown>> {
  return { task: keyOf(task), namespace: task.metadata.namespace, ...of, trace: traceOfTask(task).root.traceId };
}

/** Longest delay of the permission to read a task's objects, ms. */
const permissionMs = 30_000;
const permissionRetryMs = 500;

/** An engine that starts nothing: proposals of others must not be counted for an unknown revision. */
function withoutRevision(engine: AttemptEngine, message: string): AttemptEngine {
  return {
    run: () => Promise.resolve({ result: 'Failed', class: 'Infrastructure', reason: 'RevisionUnknown', message }),
    rollback: (context, which) => engine.rollback(context, which),
  };
}
