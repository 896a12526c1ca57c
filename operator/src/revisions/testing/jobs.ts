import { isConflict, isNotFound, ResourceClient } from '@agentfleet/kube';
import { goldenEnvironment, type GoldenArm } from '@agentfleet/protocol/golden';
import { labels } from '@agentfleet/protocol/pool';
import type { Stage } from '../../controllers/agenttask/testing/stage.ts';
import { type Job, type Pod, type PodTemplate, resources } from '../../runtime/resources.ts';

/** End of a Job. `Evicted`: the cluster takes its pod. `Late`: its time is over. `Goes on`: it does not end. */
export type End = { readonly says: string } | { readonly exits: number; readonly says?: string } | 'Evicted' | 'Late' | 'Goes on';

/** One of the Jobs that were made. */
export interface Made {
  readonly name: string;
  readonly role: string;
  readonly seed: string;
  readonly arm: GoldenArm;
}

type WithSpec = Job & {
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly containers: readonly { readonly name: string; readonly env: readonly { name: string; value: string }[] }[];
      };
    };
  };
};

/** Plays the Job controller and the kubelet for golden sets. */
export class GoldenJobs {
  /** All that were made, the oldest first; one that was made again under its name counts again. */
  readonly made: Made[] = [];
  ends: (job: Made) => End;
  readonly #stage: Stage;
  readonly #seen = new Set<string>();

  private constructor(stage: Stage, ends: (job: Made) => End) {
    this.#stage = stage;
    this.ends = ends;
  }

  static join(stage: Stage, ends: (job: Made) => End): GoldenJobs {
    const jobs = new GoldenJobs(stage, ends);
    stage.actors.push(() => jobs.#act());
    return jobs;
  }

  /** Those of one revision. */
  of(role: 'canary' | 'stable'): readonly Made[] {
    return this.made.filter((job) => job.role === role);
  }

  async #act(): Promise<void> {
    for (const job of this.#stage.server.objects(resources.jobs)) {
      if (job.metadata.labels?.[labels.component] !== 'golden' || job.status?.conditions !== undefined) continue;
      await this.#run(job as WithSpec).catch((error: unknown) => {
        if (!isConflict(error) && !isNotFound(error)) throw error; // it was deleted meanwhile
      });
    }
  }

  async #run(job: WithSpec): Promise<void> {
    const { name, uid = '' } = job.metadata;
    const [container] = job.spec.template.spec.containers;
    const env = new Map(container?.env.map((variable) => [variable.name, variable.value]));
    const made: Made = {
      name,
      role: env.get(goldenEnvironment.role) ?? '',
      seed: env.get(goldenEnvironment.seed) ?? '',
      arm: JSON.parse(env.get(goldenEnvironment.arm) ?? 'null') as GoldenArm,
    };
    if (!this.#seen.has(uid)) this.made.push(made);
    this.#seen.add(uid);
    const end = this.ends(made);
    if (end === 'Goes on') return;
    if (end !== 'Late') await this.#pod(job, container?.name ?? '', end);
    const how = typeof end === 'object' && !('exits' in end) ? { type: 'Complete' } : { type: 'Failed', reason: 'BackoffLimitExceeded' };
    const condition = { status: 'True', ...how, ...(end === 'Late' ? { reason: 'DeadlineExceeded' } : {}) };
    const jobs = new ResourceClient<Job>(this.#stage.transport, resources.jobs);
    await jobs.patch(job.metadata, { status: { conditions: [condition] } }, { subresource: 'status' });
  }

  async #pod({ metadata, spec }: WithSpec, container: string, end: Exclude<End, string> | 'Evicted'): Promise<void> {
    const { name: jobName, namespace = '', uid = '' } = metadata;
    const name = `${jobName}-pod`;
    const own = { ...spec.template.metadata.labels, 'batch.kubernetes.io/job-name': jobName };
    const ownerReferences = [{ apiVersion: 'batch/v1', kind: 'Job', name: jobName, uid, controller: true }];
    if (!this.#stage.server.objects<Pod>(resources.pods).some((pod) => pod.metadata.name === name))
      await this.#stage.pods.create({
        metadata: { name, namespace, labels: own, ownerReferences },
        spec: { nodeName: 'n1', containers: [{ name: container, image: 'set:1' }] },
      });
    await this.#stage.pods.patch({ namespace, name }, { status: podStatus(container, end) }, { subresource: 'status' });
  }
}

function podStatus(name: string, end: Exclude<End, string> | 'Evicted'): object {
  if (end === 'Evicted') return { phase: 'Failed', reason: 'Evicted', message: 'the node was low on memory' };
  const { says: message = '' } = end;
  const exitCode = 'exits' in end ? end.exits : 0;
  const terminated = { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', message };
  return {
    phase: exitCode === 0 ? 'Succeeded' : 'Failed',
    containerStatuses: [{ name, ready: false, restartCount: 0, state: { terminated } }],
  };
}

/** A template of golden sets; another `word`, another content. */
export function goldenTemplate(word = 'one', name = 'golden'): PodTemplate {
  const containers = [{ name: 'set', image: 'set:1', args: [word] }];
  return { apiVersion: 'v1', kind: 'PodTemplate', metadata: { name, namespace: 'platform' }, template: { spec: { containers } } };
}

/** Result of a set in which so many of a hundred cases pass. */
export const passes = (passed: number): End => ({ says: JSON.stringify({ passed, total: 100 }) });
