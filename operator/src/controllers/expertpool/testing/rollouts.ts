import { createHash } from 'node:crypto';
import { isConflict, isNotFound, leases, ResourceClient, type Lease } from '@agentfleet/kube';
import { labels } from '@agentfleet/protocol/pool';
import { nodeOfSlot, slotLabel, valuesIn } from '../../../placement/index.ts';
import { type Deployment, type Pod, resources } from '../../../runtime/resources.ts';
import type { Stage } from '../../agenttask/testing/stage.ts';

/** A Deployment as its controller reads it. */
type Templated = Deployment & {
  readonly spec?: {
    readonly template?: {
      readonly metadata?: { readonly labels?: Readonly<Record<string, string>>; readonly annotations?: Readonly<Record<string, string>> };
      readonly spec?: Pod['spec'];
    };
  };
};

/** Plays the Deployment controller, its pods and the provisioner of their volumes: all that a pool waits for. */
export class Rollouts {
  readonly #stage: Stage;
  readonly #pods: ResourceClient<Pod>;
  /** Pods by the uid and generation of the Deployment that they are of. */
  readonly #made = new Map<string, string>();

  private constructor(stage: Stage) {
    this.#stage = stage;
    this.#pods = stage.pods;
  }

  static join(stage: Stage): void {
    const rollouts = new Rollouts(stage);
    stage.actors.push(() => rollouts.#act());
  }

  async #act(): Promise<void> {
    const { server, transport } = this.#stage;
    const claims = new ResourceClient(transport, resources.persistentVolumeClaims);
    for (const { metadata, status } of server.objects(resources.persistentVolumeClaims))
      if (status?.phase === undefined) await tell(claims.patch(metadata, { status: { phase: 'Bound' } }, { subresource: 'status' }));
    for (const deployment of server.objects<Templated>(resources.deployments)) await this.#rollOut(deployment);
    for (const pod of server.objects(resources.pods)) await this.#end(pod);
    await this.#forget();
  }

  async #rollOut(deployment: Templated): Promise<void> {
    const { metadata, spec, status } = deployment;
    if (status?.observedGeneration === metadata.generation) return;
    const { replicas = 1 } = spec ?? {};
    const { uid = '', generation = 1, name } = metadata;
    for (const pod of this.#of(uid)) await tell(this.#pods.delete(pod.metadata, { gracePeriodSeconds: 0 }));
    for (let i = 0; i < replicas; i += 1) await this.#start(deployment, `${name}-${generation}-${i}`);
    const counts = { observedGeneration: generation, replicas, updatedReplicas: replicas, readyReplicas: replicas };
    const deployments = new ResourceClient<Deployment>(this.#stage.transport, resources.deployments);
    await tell(deployments.patch(metadata, { status: counts }, { subresource: 'status' }));
  }

  async #start({ metadata, spec }: Templated, name: string): Promise<void> {
    const { namespace = '', uid = '' } = metadata;
    const { labels: own = {}, annotations = {} } = spec?.template?.metadata ?? {};
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'Deployment', name: metadata.name, uid, controller: true }];
    const { containers = [], serviceAccountName } = spec?.template?.spec ?? {};
    const [slot] = valuesIn(annotations[slotLabel]);
    const slim = containers.map(({ name: container, image = '' }) => ({ name: container, image }));
    await this.#pods.create({
      metadata: { name, namespace, labels: { ...own }, annotations: { ...annotations }, ownerReferences },
      spec: {
        nodeName: slot === undefined ? 'n1' : nodeOfSlot(slot),
        containers: slim,
        ...(serviceAccountName === undefined ? {} : { serviceAccountName }),
      },
    });
    const status = { phase: 'Running', podIP: addressOf(name), conditions: [{ type: 'Ready', status: 'True' }] };
    await this.#pods.patch({ namespace, name }, { status }, { subresource: 'status' });
    this.#made.set(`${namespace}/${name}`, uid);
    if (own[labels.component] === 'worker') this.#stage.beating.add(name);
  }

  #of(uid: string): readonly Pod[] {
    return this.#stage.server
      .objects(resources.pods)
      .filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid) === true);
  }

  /** Ends a pod that the garbage collector deletes: it has no container that would take its time. */
  async #end(pod: Pod): Promise<void> {
    if (pod.metadata.deletionTimestamp === undefined || pod.metadata.labels?.[labels.component] === 'sandbox') return;
    await tell(this.#pods.delete(pod.metadata, { gracePeriodSeconds: 0 }));
  }

  /** Workers that are gone renew nothing, and their Leases go. */
  async #forget(): Promise<void> {
    const present = new Set(this.#stage.server.objects(resources.pods).map(({ metadata }) => metadata.name));
    for (const key of this.#made.keys()) {
      const name = key.slice(key.indexOf('/') + 1);
      if (present.has(name)) continue;
      this.#made.delete(key);
      if (!this.#stage.beating.delete(name)) continue;
      const client = new ResourceClient<Lease>(this.#stage.transport, leases);
      await tell(client.delete({ namespace: 'platform', name }));
    }
  }
}

/** An address of its own for each pod, and the same in every run. */
function addressOf(pod: string): string {
  const [a = 0, b = 0, c = 0] = createHash('sha256').update(pod).digest();
  return `10.${a}.${b}.${c}`;
}

async function tell(write: Promise<unknown>): Promise<void> {
  await write.catch((error: unknown) => {
    if (!isConflict(error) && !isNotFound(error)) throw error; // another writer was faster; the next step looks again
  });
}
