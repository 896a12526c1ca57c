import { buffer } from 'node:stream/consumers';
import {
  Controller,
  done,
  Informer,
  parseKey,
  isAlreadyExists,
  keyOf,
  ResourceClient,
  watches,
  type Clock,
  type KubeObject,
  type Log,
  type ObjectName,
  type Random,
  type Transport,
} from '@agentfleet/kube';
import { apiVersion, type AgentTask } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { copiedArtifacts, copyName, maxCopyBytes } from '@agentfleet/protocol/results';
import { resources, type ConfigMap } from '../runtime/resources.ts';
import { Refused } from './refused.ts';
import type { WorkersClient } from './workers.ts';

export interface CopiesOptions {
  readonly transport: Transport;
  readonly workers: Pick<WorkersClient, 'artifact'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Tasks of these namespaces only; default: of all. */
  readonly namespaces?: readonly string[] | undefined;
}

/** `v1.ConfigMap`, with what is written here. */
interface Copy extends ConfigMap {
  readonly binaryData?: Readonly<Record<string, string>>;
  readonly immutable: true;
}

/** Returns the part of a task that is kept in memory: its identity. */
function shrink({ metadata: { name, namespace, uid, resourceVersion, annotations } }: KubeObject): KubeObject {
  const given = Object.entries({ namespace, uid, resourceVersion, annotations }).filter(([, value]) => value !== undefined);
  return { metadata: { name, ...Object.fromEntries(given) } };
}

/**
 * Copies small artifacts of tasks that have ended into a ConfigMap of the task's namespace, which the task owns: for clusters whose API
 * server has no aggregation layer. It may make ConfigMaps and change none, so that it cannot touch what it did not make.
 */
export class Copies {
  readonly #options: CopiesOptions;
  readonly #tasks: Informer;
  readonly #ends: ResourceClient<AgentTask>;
  readonly #configMaps: ResourceClient<ConfigMap>;
  readonly controller: Controller;

  constructor(options: CopiesOptions) {
    this.#options = options;
    const { transport, clock, random, log, namespaces } = options;
    this.#ends = new ResourceClient(transport, resources.agentTasks);
    this.#configMaps = new ResourceClient(transport, resources.configMaps);
    this.#tasks = new Informer({
      transport,
      resource: resources.agentTasks,
      fieldSelector: 'status.finished=true',
      clock,
      random,
      log,
      transform: shrink,
      ...(namespaces !== undefined && { namespaces }),
    });
    this.controller = new Controller({
      name: 'results-copies',
      sources: [watches(this.#tasks, { predicate: ({ type }) => type === 'add' })],
      reconcile: async (key, { signal }) => {
        await this.#copy(parseKey(key), signal);
        return done;
      },
      maxConcurrent: 4,
      clock,
      log,
    });
  }

  get synced(): boolean {
    return this.#tasks.hasSynced();
  }

  /** Resolves when the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#tasks.run(signal), this.controller.run(signal)]);
  }

  async #copy(name: ObjectName, signal: AbortSignal): Promise<void> {
    const task = await this.#ends.find(name, { signal });
    const small = (task?.status?.run?.artifacts ?? []).filter(
      (one) => copiedArtifacts.some((copied) => copied === one.name) && one.bytes <= maxCopyBytes,
    );
    if (task === undefined || small.length === 0 || task.status?.finished !== 'true') return;
    const made = copyOf(task);
    // Most tasks of a server that starts again have theirs: that costs no worker a read.
    if (!(await this.#create(made, true, signal))) return;
    const contents = new Map<string, Buffer>();
    for (const { name: file, uri } of small) {
      const content = await this.#read(task, uri, signal);
      if (content !== undefined) contents.set(file, content);
    }
    if (await this.#create({ ...made, ...contentOf(contents) }, false, signal))
      this.#options.log.info('small artifacts are copied', { task: keyOf(task), configMap: made.metadata.name });
  }

  /** Returns the content of an artifact; undefined: it is gone, or permanently not available. Rejects where another try may help. */
  async #read(task: AgentTask, uri: string, signal: AbortSignal): Promise<Buffer | undefined> {
    try {
      const answer = await this.#options.workers.artifact(task, uri, signal);
      const content = answer === undefined ? undefined : await buffer(answer.body);
      return content === undefined || content.length > maxCopyBytes ? undefined : content;
    } catch (error) {
      if (!(error instanceof Refused) || error.status === 503) throw error;
      this.#options.log.warn('an artifact cannot be copied', { task: keyOf(task), uri, error: error.message });
      return undefined;
    }
  }

  /** False: it is there. */
  async #create(object: Copy, dryRun: boolean, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#configMaps.create(object, { fieldManager: 'agentfleet-results', dryRun, signal });
      return true;
    } catch (error) {
      if (isAlreadyExists(error)) return false;
      throw error;
    }
  }
}

/** The empty ConfigMap of a task. */
function copyOf({ metadata: { name, namespace = '', uid = '' } }: AgentTask): Copy {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: copyName(uid),
      namespace,
      labels: { [labels.task]: name },
      ownerReferences: [{ apiVersion, kind: 'AgentTask', name, uid }],
    },
    immutable: true,
  };
}

/** Texts as they are, anything else in base64. Pure. */
function contentOf(contents: ReadonlyMap<string, Buffer>): Pick<Copy, 'data' | 'binaryData'> {
  const isText = (bytes: Buffer): boolean => Buffer.from(bytes.toString('utf8')).equals(bytes);
  const [texts, others] = [[...contents].filter(([, bytes]) => isText(bytes)), [...contents].filter(([, bytes]) => !isText(bytes))];
  return {
    data: Object.fromEntries(texts.map(([name, bytes]) => [name, bytes.toString('utf8')])),
    binaryData: Object.fromEntries(others.map(([name, bytes]) => [name, bytes.toString('base64')])),
  };
}
