import { type ModelFault, modelFaults, reportedRollout, shadowCondition } from '../../revisions/index.ts';
import { cut } from '@agentfleet/kube';
import { rolloutCondition } from '../../operands/conditions.ts';
import { type Obstacle, type Aspects, conditionsOf } from './conditions.ts';
import { draftOf, imageOf, weightsOf, shardsOf } from '../../operands/index.ts';
import type { Expert, ExpertPoolStatus, ExpertPool, Reason } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import type { ConditionValue, Pod } from '../../runtime/resources.ts';
import { grantSnippet } from '../../pools/consent.ts';
import { artifactsClaim, workersName, gatewayName } from '../../pools/names.ts';
import { isWorkerPod } from '../../pools/resolve.ts';
import { warmCounts } from '../warmpool/decide.ts';
import { gatewayRevision, serverName, serverRevision } from './servers.ts';
import { type EngineSizes, bytesPerToken, kvCacheBytes } from './manifests/experts.ts';
import { isBehindGateway, isChat } from './manifests/chat.ts';
import { gatewayUrl, gatewayReplicas } from './manifests/gateway.ts';
import { homeOf, poolLabels } from '../../operands/manifest.ts';
import {
  exceeded,
  firstTrouble,
  isReady,
  newestReady,
  refusedPods,
  rolledOut,
  serverUrl,
  servingOf,
  withImage,
  type Serving,
  type ServerInfo,
} from '../../serving/index.ts';
import type { PoolSnapshot } from './snapshot.ts';
import { artifactsCondition, viewOfItem } from './manifests/weights.ts';
import { compareMemory } from '../../placement/index.ts';

interface ExpertView {
  readonly state: NonNullable<ExpertPoolStatus['experts']>[number];
  readonly conditionValue: ConditionValue;
  readonly essential: boolean;
}

/** Returns the state of the parts that serve an expert: its pods, and for a chat model the gateway. */
function servingExpert(snapshot: PoolSnapshot, expert: Expert, pods: readonly Pod[], obstacle: Obstacle | undefined): Serving {
  const { replicas: wanted } = expert;
  if (expert.engine.type === 'Harness')
    return { phase: wanted === 0 ? 'Scaled' : 'Ready', replicas: wanted, ready: wanted, fault: undefined };
  if (isBehindGateway(expert)) {
    if (wanted === 0) return { phase: 'Scaled', replicas: 0, ready: 0, fault: undefined };
    const gateway = gatewayServing(snapshot, obstacle);
    const refused = refusedOf(snapshot, expert);
    return gateway.fault !== undefined || refused === undefined ? gateway : { ...gateway, phase: 'Degraded', fault: refused };
  }
  const deployment = snapshot.deployments.get(serverName(snapshot, expert));
  const own = servingOf({ wanted, deployment, pods, notes: snapshot.notes, obstacle });
  if (own.fault !== undefined || wanted === 0 || !isChat(expert)) return own;
  const { fault } = gatewayServing(snapshot);
  return fault === undefined ? own : { ...own, phase: 'Degraded', fault };
}

const refusals: Readonly<Record<ModelFault, readonly [reason: Reason, words: string]>> = {
  CredentialMissing: ['CredentialMissing', 'has no usable key; correct the Secret of its credential'],
  CredentialRefused: ['CredentialRefused', 'was refused for its key; correct the Secret of its credential'],
  ModelNotAtProvider: [
    'ModelNotAtProvider',
    'was refused: the provider does not have the model; correct its name in the engine of the expert',
  ],
  ProviderUnreachable: [
    'ModelUnreachable',
    'got no answer, or a failure of the server; look at the endpoint, and at baseURL of the engine',
  ],
};

const refusalMessage = (fault: ModelFault): string => `the last request to the model ${refusals[fault][1]}`;

/** Returns the fault by which the newest request to a model behind an API failed. The next one that succeeds ends it. */
function refusedOf(snapshot: PoolSnapshot, { name }: Expert): Serving['fault'] {
  const known = snapshot.modelFaults?.get(gatewayRevision(snapshot))?.get(name);
  const fault = known === undefined ? reportedFault(snapshot, name) : (known ?? undefined);
  if (fault === undefined) return undefined;
  return { reason: refusals[fault][0], message: refusalMessage(fault), stalled: fault !== 'ProviderUnreachable' };
}

/** A gateway that started anew, or that this process has not asked yet, proves nothing: what the status reports of this spec stands. */
function reportedFault({ pool: { metadata, status } }: PoolSnapshot, name: string): ModelFault | undefined {
  if (status?.observedGeneration !== metadata.generation) return undefined;
  const message = status?.experts?.find((expert) => expert.name === name)?.message;
  return modelFaults.find((fault) => refusalMessage(fault) === message);
}

function expertView(snapshot: PoolSnapshot, obstacles: readonly Obstacle[], expert: Expert): ExpertView {
  const { pool, images, infos } = snapshot;
  const { name } = expert;
  const service = serverName(snapshot, expert);
  const revision = serverRevision(snapshot, expert);
  const own = snapshot.pods.filter(
    ({ metadata }) => metadata.labels?.[labels.expert] === name && metadata.labels[labels.revision] === revision,
  );
  const pods = own.filter(withImage(imageOf(expert, images)));
  const obstacle = obstacles.find((known) => known.expert === name);
  const { phase, replicas, ready, fault } = servingExpert(snapshot, expert, pods, obstacle);
  const info = infos.get(newestReady(own)?.metadata.name ?? '');
  const shadow = info?.shadow == null ? undefined : `in shadow, so nobody acts upon it: ${info.shadow}`;
  const message = fault?.message ?? shadow;
  const memory = memoryOf(expert, sizesOf(snapshot, expert), info);
  const latency = snapshot.latencies?.get(name);
  const state = {
    name,
    phase,
    ...(info === undefined ? {} : { digest: info.digest }),
    ...(expert.engine.type !== 'Harness' && {
      endpoint: isChat(expert) ? gatewayUrl(pool, gatewayRevision(snapshot)) : serverUrl(service, homeOf(pool)),
    }),
    replicas,
    ready,
    ...(memory === undefined ? {} : { memory }),
    ...(latency === undefined ? {} : { latency }),
    ...(message === undefined ? {} : { message: cut(message, 512) }),
  };
  const conditionValue: ConditionValue =
    fault === undefined ? { status: 'True', reason: 'Ready', message: '' } : { status: 'False', ...fault };
  // A pool whose model is refused goes on with the fallback of the model.
  const replaced = expert.fallback !== undefined && refusedOf(snapshot, expert) !== undefined;
  return { state, conditionValue, essential: isEssential(pool, expert) && !replaced };
}

/** Returns the known sizes of the weights that an expert serves. */
function sizesOf({ pool, weights = [] }: PoolSnapshot, expert: Expert): EngineSizes {
  const of = (name: string): EngineSizes['model'] => {
    const item = weightsOf(pool, [expert]).find((known) => known.name === name);
    return item === undefined ? undefined : viewOfItem(weights, item)?.state.architecture;
  };
  return { model: of(expert.name), draft: of(draftOf(expert.name)) };
}

/** Those that fail in one sentence, beginning with what nothing but a change from outside can help. */
function failing(views: readonly ExpertView[]): ConditionValue | undefined {
  const words = views.filter(({ conditionValue }) => conditionValue.status !== 'True');
  const [first] = [...words].sort((a, b) => Number(b.conditionValue.stalled === true) - Number(a.conditionValue.stalled === true));
  if (first === undefined) return undefined;
  return {
    ...first.conditionValue,
    message: words.map(({ state, conditionValue }) => `expert ${state.name}: ${conditionValue.message}`).join('; '),
  };
}

function enginesCondition(snapshot: PoolSnapshot, views: readonly ExpertView[]): ConditionValue {
  const conditionValue = failing(views.filter(({ essential }) => essential));
  if (conditionValue !== undefined) return conditionValue;
  const { experts, workers } = snapshot.pool.spec;
  const generalist = experts.some(({ role, replicas }) => role === 'Generalist' && replicas > 0);
  if (generalist || workers.replicas === 0) return { status: 'True', reason: 'Ready', message: 'all experts that propose answer' };
  const message = 'no Generalist has pods; set spec.experts[].replicas of one to at least 1';
  return { status: 'False', reason: 'NoGeneralist', message, stalled: true };
}

/** Returns the reason why the verifier that the pool names does not serve it. */
function verifierCondition({ pool, energyModel }: PoolSnapshot): ConditionValue | undefined {
  const name = pool.spec.energyModelRef?.name;
  if (name === undefined) return undefined;
  if (energyModel === undefined) {
    const message = `there is no EnergyModel ${name} in the namespace of the pool; create it or correct spec.energyModelRef`;
    return { status: 'True', reason: 'EnergyModelNotFound', message, stalled: true };
  }
  if ((energyModel.status?.ready ?? 0) > 0) return undefined;
  const ready = energyModel.status?.conditions?.find(({ type }) => type === 'Ready');
  const message = `EnergyModel ${name} does not answer, so ${energyModel.spec.thresholds.whenUnavailable} holds for unsafe acts`;
  return { status: 'True', reason: 'EnergyModelNotReady', message: ready === undefined ? message : `${message}: ${ready.message}` };
}

/** Namespaces in which sandboxes are to wait and cannot. */
function warmCondition({ pool, namespaces, missingGrants = [] }: PoolSnapshot): ConditionValue | undefined {
  const ungranted = new Set(missingGrants.map(({ namespace }) => namespace));
  const asked = (pool.spec.sandbox.warm ?? []).filter(({ replicas }) => replicas > 0).map(({ namespace }) => namespace);
  const closed = asked.filter((namespace) => !namespaces.includes(namespace) && !ungranted.has(namespace));
  if (closed.length === 0) return undefined;
  const message = `no sandboxes wait in ${closed.join(', ')}: spec.allowedNamespaces must allow a namespace of spec.sandbox.warm, it must exist, and it must not be one of the cluster or of the operator`;
  return { status: 'True', reason: 'WarmNamespaceNotReady', message };
}

/** Reports which namespace lacks which grant, with the object that cures it. */
function grantsCondition({ pool, missingGrants }: PoolSnapshot): ConditionValue | undefined {
  const { warm = [] } = pool.spec.sandbox;
  if (missingGrants === undefined || warm.every(({ namespace }) => namespace === homeOf(pool))) return undefined;
  if (missingGrants.length === 0) return { status: 'True', reason: 'Granted', message: 'all namespaces of spec.sandbox.warm consent' };
  const cures = missingGrants.map((missing) => {
    const { namespace, rights } = missing;
    return `namespace ${namespace} does not grant ${rights.join(', ')}; whoever owns it may create ${grantSnippet(pool, missing)}`;
  });
  return { status: 'False', reason: 'GrantMissing', message: cures.join('; ') };
}

/** Reports what the pool goes on without; undefined when nothing is missing. */
function degradedCondition(snapshot: PoolSnapshot, views: readonly ExpertView[]): ConditionValue | undefined {
  const experts = failing(views.filter(({ essential }) => !essential));
  const grants = grantsCondition(snapshot);
  const lacking = grants?.status === 'False' ? { ...grants, status: 'True' as const } : undefined;
  const words = [verifierCondition(snapshot), experts, warmCondition(snapshot), lacking].filter(
    (conditionValue) => conditionValue !== undefined,
  );
  const worst = words.find(({ stalled }) => stalled === true) ?? words[0];
  if (worst === undefined) return undefined;
  return { status: 'True', reason: worst.reason, message: words.map(({ message }) => message).join('; ') };
}

function workersState({ pool, deployments, pods, alive }: PoolSnapshot): NonNullable<ExpertPoolStatus['workers']> {
  const deployment = deployments.get(workersName(pool.metadata.name));
  const selector = Object.entries(poolLabels(pool, 'worker')).map(([name, value]) => `${name}=${value}`);
  return {
    replicas: deployment?.status?.replicas ?? 0,
    ready: pods.filter((pod) => isWorkerPod(pod) && isReady(pod) && alive.has(pod.metadata.name)).length,
    selector: selector.join(','),
  };
}

function workersCondition(snapshot: PoolSnapshot, ready: number): ConditionValue {
  const { pool, deployments, pods, notes, images } = snapshot;
  const wanted = pool.spec.workers.replicas;
  const deployment = deployments.get(workersName(pool.metadata.name));
  const inPlace = rolledOut(deployment, wanted);
  // As with a Deployment, nothing is what was asked for.
  if (inPlace && wanted === 0) return { status: 'True', reason: 'ScaledToZero', message: 'spec.workers.replicas is 0, so no task runs' };
  if (inPlace && ready === wanted) return { status: 'True', reason: 'Ready', message: `${ready} workers are ready` };
  const trouble = firstTrouble(pods.filter(isWorkerPod).filter(withImage(images.agent)), notes) ?? refusedPods(deployment);
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

function storageCondition({ pool, claim }: PoolSnapshot): ConditionValue {
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
export function poolStatus(snapshot: PoolSnapshot, obstacles: readonly Obstacle[], now: number): ExpertPoolStatus {
  const { pool, counts } = snapshot;
  const views = pool.spec.experts.map((expert) => expertView(snapshot, obstacles, expert));
  const workers = workersState(snapshot);
  const aspects: Aspects = {
    engines: enginesCondition(snapshot, views),
    workers: workersCondition(snapshot, workers.ready),
    storage: storageCondition(snapshot),
    degraded: degradedCondition(snapshot, views),
    rollout: rolloutCondition(snapshot.rollout?.status),
    shadow: shadowCondition(snapshot.rollout?.status, snapshot.rollout?.shadow, now),
    artifacts: artifactsCondition(snapshot.weights ?? []),
    grants: grantsCondition(snapshot),
    drift: driftCondition(views.map(({ state }) => state)),
  };
  const dispensable = new Set(views.filter(({ essential }) => !essential).map(({ state }) => state.name));
  const blocking = obstacles.filter(({ expert }) => expert === undefined || !dispensable.has(expert));
  return {
    observedGeneration: pool.metadata.generation ?? 0,
    conditions: [...conditionsOf(pool, blocking, aspects, now)],
    experts: views.map(({ state }) => state),
    ...((snapshot.weights ?? []).length === 0 ? {} : { artifacts: (snapshot.weights ?? []).map(({ state }) => state) }),
    workers,
    ...(pool.spec.sandbox.warm === undefined && snapshot.madeAhead.length === 0 ? {} : { sandboxes: warmCounts(snapshot.madeAhead) }),
    running: counts.running,
    queued: counts.queued,
    ...(snapshot.rollout?.status === undefined ? {} : { rollout: reportedRollout(snapshot.rollout.status) }),
  };
}

const proposes = ({ role }: Expert): boolean => role === 'Generalist' || role === 'Specialist';

/**
 * Reports whether tasks cannot be done without an expert: it proposes. The others make the work better, and a pool goes on
 * without them and reports it; so it does without a language model, unless no other expert is a Generalist. Pure.
 */
function isEssential(pool: ExpertPool, expert: Expert): boolean {
  if (!proposes(expert)) return false;
  if (expert.engine.type !== 'Llama') return true;
  const other = pool.spec.experts.some(({ role, engine, replicas }) => role === 'Generalist' && engine.type !== 'Llama' && replicas > 0);
  return !other;
}

/** Returns the state of the gateway that tasks without a revision are sent to. Pure. */
function gatewayServing(snapshot: PoolSnapshot, obstacle?: Obstacle): Serving {
  const { pool, images, notes, deployments } = snapshot;
  const revision = gatewayRevision(snapshot);
  const own = snapshot.pods.filter(
    ({ metadata }) => metadata.labels?.[labels.component] === 'gateway' && metadata.labels[labels.revision] === revision,
  );
  const pods = own.filter(withImage(images.inference));
  const deployment = deployments.get(gatewayName(pool.metadata.name, revision));
  const serving = servingOf({ wanted: gatewayReplicas(pool), deployment, pods, notes, obstacle });
  return serving.fault === undefined ? serving : { ...serving, fault: withCure(pool, serving.fault) };
}

const missingObject = /(secret|configmap) "([^"]+)" not found|references non-existent (secret|config) key: (\S+)/;

/** The kubelet's words for a Secret or a key that is missing, with the cure before them. */
function withCure({ spec, metadata }: ExpertPool, fault: NonNullable<Serving['fault']>): NonNullable<Serving['fault']> {
  const found = missingObject.exec(fault.message);
  if (found === null) return fault;
  const [, kind, name, keyKind, key] = found;
  const secret = kind === 'secret' || keyKind === 'secret';
  if (!secret) {
    const what = name === undefined ? `the key ${key} of the ConfigMap` : `ConfigMap ${name}`;
    return {
      ...fault,
      reason: 'CaBundleMissing',
      message: `the gateway waits for ${what} that caBundleRef names; create it: ${fault.message}`,
    };
  }
  const entry = spec.credentials?.find(({ secretRef }) => secretRef.name === name || secretRef.key === key);
  const what = entry === undefined ? (name ?? key) : `${entry.secretRef.name} with the key ${entry.secretRef.key}`;
  const cure = `create Secret ${what} in namespace ${metadata.namespace}, or correct spec.credentials`;
  return { ...fault, reason: 'CredentialMissing', message: `the gateway waits for a key; ${cure}: ${fault.message}` };
}

type ExpertState = NonNullable<ExpertPoolStatus['experts']>[number];

/**
 * Keys and values of an engine on each of its GPUs: what was reckoned for the tokens that it holds, beside the bytes that it was given for them.
 * Undefined while it does not report. Pure.
 */
export function memoryOf(expert: Expert, sizes: EngineSizes, info: ServerInfo | undefined): ExpertState['memory'] {
  if (expert.engine.type !== 'VLLM' || sizes.model === undefined || info?.kvTokens === undefined) return undefined;
  const found = compareMemory(info.kvTokens * bytesPerToken(sizes, shardsOf(expert)), kvCacheBytes(expert, sizes));
  return found === undefined ? undefined : { estimated: found.estimated, measured: found.measured };
}

const gib = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(2)} GiB`;

/** The condition EstimateDrift; undefined where no engine reports its memory. Pure. */
export function driftCondition(states: readonly ExpertState[]): ConditionValue | undefined {
  const drifts = states.flatMap(({ name, memory }) => {
    const found = memory === undefined ? undefined : compareMemory(memory.estimated, memory.measured);
    return found === undefined ? [] : [{ name, ...found }];
  });
  if (drifts.length === 0) return undefined;
  const far = drifts.filter(({ drifted }) => drifted);
  if (far.length === 0) return { status: 'False', reason: 'WithinTolerance', message: 'engines hold as many tokens as was reckoned' };
  const words = far.map(
    ({ name, estimated, measured, errorRatio }) =>
      `expert ${name}: its engine holds in ${gib(measured)} the tokens that were reckoned at ${gib(estimated)} (error ${errorRatio})`,
  );
  const message = `${words.join('; ')}; set resources.memory.kvTokens, or engine.vLLM.kvCacheBytes, by what it holds`;
  return { status: 'True', reason: 'EstimateDrift', message };
}
