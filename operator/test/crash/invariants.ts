import { keyOf, type KubeObject, type WithConditions } from '@agentfleet/kube';
import { conditionFaults } from '@agentfleet/kube/testing';
import type { FakeApiServer, SeenRequest, VersionChange } from '@agentfleet/kube/testing';
import type { AgentTask } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { Invariants } from '../../src/controllers/agenttask/testing/invariants.ts';
import { recordComponent } from '../../src/pools/made.ts';
import { isUnclaimed } from '../../src/pools/resolve.ts';
import type { Pod } from '../../src/runtime/resources.ts';
import type { History } from './history.ts';
import type { MayDo } from './rules.ts';
import { poolNamespaceLabel } from '../../src/runtime/caches.ts';

/** Objects that pools share in a namespace of tasks: they go with the last pool, by the controller, not by an owner. */
const shared = new Set(['agentfleet-sandbox', 'agentfleet-jwks', 'agentfleet-link']);

const owners = ['expertpools.agentfleet.dev', 'energymodels.agentfleet.dev'];

/** The manager of fields that the operator writes as. */
const ours = 'agentfleet-operator';

/** Collects what breaks a promise over the whole history of a run: every version, every request, every act of a worker. */
export class InvariantChecker {
  readonly #tasks: Invariants;
  readonly #faults: string[] = [];
  /** Worker that acted for a task under an epoch, by `uid epoch`. */
  readonly #acts = new Map<string, string>();
  readonly #history: History;

  constructor(server: FakeApiServer, history: History, may: MayDo) {
    this.#history = history;
    this.#tasks = new Invariants({ tasks: history.of<AgentTask>('agenttasks.agentfleet.dev'), pods: history.of<Pod>('pods') });
    history.onChange((kind, change) => this.#version(kind, change));
    server.onRequest = (request) => {
      this.#request(request, may);
      return undefined;
    };
  }

  get faults(): readonly string[] {
    return [...this.#tasks.faults, ...this.#faults];
  }

  fault(text: string): void {
    this.#faults.push(text);
  }

  /** A worker acts for a task under an epoch, with a sandbox. */
  act(task: AgentTask, worker: string): void {
    const { assignment } = task.status ?? {};
    const key = `${task.metadata.uid ?? ''} ${assignment?.epoch ?? 0}`;
    const who = `${worker} in ${assignment?.sandbox ?? ''}`;
    const before = this.#acts.get(key);
    if (before !== undefined && before !== who) this.fault(`epoch ${assignment?.epoch ?? 0} has two workers: ${before}, ${who}`);
    this.#acts.set(key, who);
  }

  /** Lists the objects that are left at the end without their owner. */
  leftovers(): readonly string[] {
    const all = [...this.#history.present.values()];
    const present = new Set(all.map(({ metadata }) => metadata.uid));
    return all.flatMap((object) => {
      const owners = object.metadata.ownerReferences ?? [];
      const lost = owners.filter(({ uid }) => !present.has(uid));
      return lost.length === 0 ? [] : [`${object.kind ?? ''} ${keyOf(object)} is left of ${lost.map(({ name }) => name).join()}`];
    });
  }

  #request(request: SeenRequest, may: MayDo): void {
    if (!request.userAgent.startsWith('operator')) return;
    const refused = !may(request) || (request.verb === 'apply' && request.subresource === '' && !this.#mayCreate(request, may));
    if (refused) this.fault(`the chart does not allow ${request.verb} ${request.resource} ${request.subresource}`);
  }

  /** To apply what is not there is to create it. */
  #mayCreate(request: SeenRequest, may: MayDo): boolean {
    const { resource, namespace, name } = request;
    const there = this.#history.present.has(`${resource} ${namespace === undefined ? '' : `${namespace}/`}${name ?? ''}`);
    return there || may({ verb: 'create', resource, subresource: '', namespace, name });
  }

  #version(kind: string, { object, previous }: VersionChange): void {
    if (object === undefined) return;
    const now = object as unknown as WithConditions & Pod;
    if (owners.includes(kind) && now.status?.conditions !== undefined) {
      for (const text of conditionFaults(now)) this.fault(`${keyOf(now)}: ${text}`);
    }
    if (previous === undefined) this.#born(kind, now);
  }

  /** Nothing that the operator makes is without an owner, apart from what the controller itself takes away again. */
  #born(kind: string, object: KubeObject): void {
    const { ownerReferences = [], name, labels: own } = object.metadata;
    const made = object.metadata.managedFields?.some(({ manager }) => manager === ours) === true;
    if (!made || ownerReferences.length > 0 || shared.has(name)) return;
    const waits = kind === 'pods' && isUnclaimed(object);
    // Access to other namespaces, which no pool can own from its own; roles of the pool itself have it as owner.
    const access = /^role(binding)?s\./.test(kind) && own?.[poolNamespaceLabel] !== undefined;
    // A pool that is made again finds what its tasks left.
    const kept = kind === 'persistentvolumeclaims' && own?.[labels.pool] !== undefined;
    // In the operator's own namespace, where no pool can own it; the controller deletes it with the pool.
    const record =
      kind === 'configmaps' && object.metadata.namespace === 'agentfleet-system' && own?.[labels.component] === recordComponent;
    if (!waits && !access && !kept && !record) this.fault(`${kind} ${keyOf(object)} was made without an owner`);
  }
}
