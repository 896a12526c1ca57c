import type { Expert, ExpertPoolStatus } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { artifactsClaim, expertName, workersName } from '../../pools/names.ts';
import type { Deployment, Pod } from '../../runtime/objects.ts';
import { conditionsOf, cut, type Aspects, type Word } from './conditions.ts';
import type { PoolDecision } from './decide.ts';
import { poolLabels } from './manifests/manifest.ts';
import { firstTrouble, isReady } from './podTrouble.ts';
import type { PoolSnapshot } from './snapshot.ts';

/** Whether every pod of the Deployment is of its present template and answers. */
function rolledOut(deployment: Deployment | undefined, replicas: number): boolean {
  const { status, metadata } = deployment ?? {};
  return (
    status?.observedGeneration !== undefined &&
    status.observedGeneration >= (metadata?.generation ?? 0) &&
    (status.updatedReplicas ?? 0) === replicas &&
    (status.replicas ?? 0) === replicas &&
    (status.readyReplicas ?? 0) === replicas
  );
}

/** The Deployment controller's word that it does not get on. */
function exceeded(deployment: Deployment | undefined): boolean {
  return deployment?.status?.conditions?.some(({ type, status }) => type === 'Progressing' && status === 'False') === true;
}

const isWorker = (pod: Pod): boolean => pod.metadata.labels?.[labels.component] === 'worker';

/** Pods of this image: those of a template before it that could not start are of no interest any more. */
const withImage =
  (image: string) =>
  ({ spec }: Pod): boolean =>
    spec?.containers?.some((container) => container.image === image) === true;

interface ExpertView {
  readonly state: NonNullable<ExpertPoolStatus['experts']>[number];
  readonly word: Word;
}

function expertView(snapshot: PoolSnapshot, decision: PoolDecision, expert: Expert): ExpertView {
  const { name, role, replicas: wanted } = expert;
  const deployment = snapshot.deployments.get(expertName(snapshot.pool.metadata.name, name));
  const { replicas = 0, readyReplicas: ready = 0 } = deployment?.status ?? {};
  if (rolledOut(deployment, wanted))
    return { state: { name, role, phase: 'Ready', replicas, ready }, word: { status: 'True', reason: 'Ready', message: '' } };
  const pods = snapshot.pods
    .filter(({ metadata }) => metadata.labels?.[labels.expert] === name)
    .filter(withImage(snapshot.images.inference));
  const [obstacle] = decision.obstacles.filter((known) => known.expert === name);
  const trouble = obstacle?.message ?? firstTrouble(pods, snapshot.notes);
  const message = trouble ?? `${ready} of ${wanted} pods of the present template answer`;
  const stalled = obstacle !== undefined || exceeded(deployment);
  const reason = obstacle?.reason ?? (stalled ? 'ProgressDeadlineExceeded' : trouble === undefined ? 'Progressing' : 'PodsNotReady');
  return {
    state: { name, role, phase: 'Starting', replicas, ready, message: cut(message, 512) },
    word: { status: 'False', reason, message, stalled },
  };
}

function enginesWord(snapshot: PoolSnapshot, views: readonly ExpertView[]): Word {
  const failing = views.filter(({ word }) => word.status !== 'True');
  const [first] = [...failing].sort((a, b) => Number(b.word.stalled === true) - Number(a.word.stalled === true));
  if (first !== undefined) {
    const message = failing.map(({ state, word }) => `expert ${state.name}: ${word.message}`).join('; ');
    return { ...first.word, message };
  }
  const { experts, workers } = snapshot.pool.spec;
  const generalist = experts.some(({ role, replicas }) => role === 'Generalist' && replicas > 0);
  if (generalist || workers.replicas === 0) return { status: 'True', reason: 'Ready', message: 'all experts answer' };
  const message = 'no Generalist has pods; set spec.experts[].replicas of one to at least 1';
  return { status: 'False', reason: 'NoGeneralist', message, stalled: true };
}

function workersState({ pool, deployments, pods, alive }: PoolSnapshot): NonNullable<ExpertPoolStatus['workers']> {
  const deployment = deployments.get(workersName(pool.metadata.name));
  const selector = Object.entries(poolLabels(pool, 'worker')).map(([name, value]) => `${name}=${value}`);
  return {
    replicas: deployment?.status?.replicas ?? 0,
    ready: pods.filter((pod) => isWorker(pod) && isReady(pod) && alive.has(pod.metadata.name)).length,
    selector: selector.join(','),
  };
}

function workersWord(snapshot: PoolSnapshot, ready: number): Word {
  const { pool, deployments, pods, notes, images } = snapshot;
  const wanted = pool.spec.workers.replicas;
  const deployment = deployments.get(workersName(pool.metadata.name));
  const inPlace = rolledOut(deployment, wanted);
  // As with a Deployment, nothing is what was asked for.
  if (inPlace && wanted === 0) return { status: 'True', reason: 'ScaledToZero', message: 'spec.workers.replicas is 0, so no task runs' };
  if (inPlace && ready === wanted) return { status: 'True', reason: 'Ready', message: `${ready} workers are ready` };
  const trouble = firstTrouble(pods.filter(isWorker).filter(withImage(images.agent)), notes);
  const counted = `${ready} of ${wanted} workers are ready`;
  const message = inPlace
    ? `${counted}; the others answer, but have not renewed their Lease`
    : trouble === undefined
      ? counted
      : `${counted}; ${trouble}`;
  if (exceeded(deployment)) return { status: 'False', reason: 'ProgressDeadlineExceeded', message, stalled: true };
  const reason = inPlace ? 'LeaseNotFresh' : trouble === undefined ? 'Progressing' : 'PodsNotReady';
  return { status: 'False', reason, message };
}

function storageWord({ pool, claim }: PoolSnapshot): Word {
  if (pool.spec.storage !== undefined) {
    // Workers prove it: they do not become ready while the bucket does not answer them.
    return { status: 'True', reason: 'ObjectStorage', message: `artifacts go to ${pool.spec.storage.uri}` };
  }
  const name = artifactsClaim(pool.metadata.name);
  const phase = claim?.status?.phase;
  if (phase === 'Bound') return { status: 'True', reason: 'ClaimBound', message: `artifacts go to the volume of ${name}` };
  if (phase === 'Lost') {
    const message = `the volume of PersistentVolumeClaim ${name} is gone; bring it back, or delete the claim and lose what it held`;
    return { status: 'False', reason: 'ClaimLost', message, stalled: true };
  }
  const message = `PersistentVolumeClaim ${name} is not bound; it needs a default StorageClass or a volume that fits, or set spec.storage`;
  return { status: 'False', reason: 'ClaimPending', message };
}

/** Status of a pool as it is after a decision. Pure. `now` is wall time in ms. */
export function poolStatus(snapshot: PoolSnapshot, decision: PoolDecision, now: number): ExpertPoolStatus {
  const { pool, counts } = snapshot;
  const views = pool.spec.experts.map((expert) => expertView(snapshot, decision, expert));
  const workers = workersState(snapshot);
  const aspects: Aspects = {
    engines: enginesWord(snapshot, views),
    workers: workersWord(snapshot, workers.ready),
    storage: storageWord(snapshot),
  };
  return {
    observedGeneration: pool.metadata.generation ?? 0,
    conditions: [...conditionsOf(pool, decision.obstacles, aspects, now)],
    experts: views.map(({ state }) => state),
    workers,
    running: counts.running,
    queued: counts.queued,
  };
}
